package abci

// AwaitForeseen returns when no precomputation runs.
func (a *Application) AwaitForeseen() { a.ahead.Wait() }
