import { createServer } from 'node:net'

/**
 * A port of 127.0.0.1 that nobody listens on at this moment. It lies below those that systems give to outgoing connections, one of
 * which might have it otherwise before it is listened on.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)))
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
