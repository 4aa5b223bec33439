import type { Server, Socket } from 'node:net'

/**
 * Passes each new connection of a server through `admit`, which may hand it on to the server, at once or later. What has arrived before the
 * connection is heard first: a client that has just hung up may have its place again. Call it before the server listens.
 */
export function interceptConnections(server: Server, admit: (socket: Socket, handOn: () => void) => void): void {
  const accept = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    // It may fail before anybody else listens.
    socket.on('error', () => {})
    setImmediate(() => {
      if (!socket.destroyed) admit(socket, handOn)
    })
    const handOn = (): void => {
      // A server that has closed meanwhile would neither know this socket nor end it.
      if (!server.listening) return void socket.destroy()
      for (const listener of accept) listener.call(server, socket)
    }
  })
}

/** Calls back when the client has hung up and nothing is left to be written: `close` comes later, when it may have connected again. */
export function onHangUp(socket: Socket, hungUp: () => void): void {
  socket.once('error', hungUp)
  socket.once('end', () => {
    if (socket.writableLength === 0) hungUp()
  })
}
