// A run that goes on: its rows come from the server that this page came from.
function startLive() {}
