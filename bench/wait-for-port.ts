import { createConnection } from 'node:net'

/** Resolves once something accepts connections there; rejects after 20 seconds. */
export const waitForPort = (host: string, port: number): Promise<void> => waitForListener({ host, port })

/** The same for any listener: a port, or the path of a UNIX socket. */
export async function waitForListener(listener: { host: string; port: number } | { path: string }): Promise<void> {
  for (const deadline = Date.now() + 20_000; ;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = createConnection(listener, () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    if (Date.now() > deadline) throw new Error(`nothing listens on ${JSON.stringify(listener)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
