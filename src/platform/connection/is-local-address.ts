import { createServer } from 'node:net'

/** Whether connections can leave from this address: by trying, because a machine may have more than its interfaces show. */
export function isLocalAddress(address: string): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRNOTAVAIL' && error.code !== 'EINVAL'))
    server.listen({ host: address, port: 0, ipv6Only: true }, () => server.close(() => resolve(true)))
  })
}
