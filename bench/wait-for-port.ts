import { createConnection } from 'node:net'

/** A server opens its ports within a second; a machine with ten times the work that it can do takes half a minute. */
const maxMs = 180_000

/** Resolves once something accepts connections there; rejects after three minutes. */
export const waitForPort = (host: string, port: number): Promise<void> => waitForListener({ host, port })

/** The same for any listener: a port, or the path of a UNIX socket. */
export async function waitForListener(listener: { host: string; port: number } | { path: string }): Promise<void> {
  for (const deadline = performance.now() + maxMs; ;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = createConnection(listener, () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    if (performance.now() > deadline) throw new Error(`nothing listens on ${JSON.stringify(listener)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
