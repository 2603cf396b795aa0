package abci

// AwaitForeseen returns when no rule runs ahead of a draft any more.
func (a *Application) AwaitForeseen() { a.ahead.Wait() }
