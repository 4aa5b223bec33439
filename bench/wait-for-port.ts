import { createConnection } from 'node:net'

/** Resolves once something accepts connections there; rejects after 20 seconds. */
export async function waitForPort(host: string, port: number): Promise<void> {
  for (const deadline = Date.now() + 20_000; ; ) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = createConnection({ host, port }, () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    if (Date.now() > deadline) throw new Error(`nothing listens on ${host}:${port}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
