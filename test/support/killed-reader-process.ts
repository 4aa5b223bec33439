/** Is killed when the first piece of a document arrives. */
process.once('message', () => process.kill(process.pid, 'SIGKILL'))
process.send?.({ ready: true })
