package abci

// AwaitForeseen returns when no precomputation runs.
func (a *Application) AwaitForeseen() { a.precomputer.Wait() }
