package survey

// LinkHash is what a link's token is looked up by, for tests that make instances
// without sending them.
var LinkHash = linkHash
