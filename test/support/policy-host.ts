import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface PolicyHost {
  host: string
  port: number
  /** What it answers; may be changed. */
  answer: (request: IncomingMessage, response: ServerResponse) => void
  /** The host and path of each request. */
  requests: string[]
}

/** The text of a policy. */
export const policyText = (mode: string, mx: string[], maxAge = 604_800): string =>
  ['version: STSv1', `mode: ${mode}`, ...mx.map((name) => `mx: ${name}`), `max_age: ${maxAge}`, ''].join('\r\n')

export const answerWith =
  (text: string, status = 200, headers: Record<string, string> = { 'content-type': 'text/plain' }) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(text)

/** A web server over TLS on loopback that publishes MTA-STS policies, until the end of the test. */
export async function policyHost(tls: Pick<ServerOptions, 'key' | 'cert'>, answer: PolicyHost['answer']): Promise<PolicyHost> {
  const host = '127.0.0.1'
  const sockets = new Set<Socket>()
  const server = createServer(tls, (request, response) => {
    served.requests.push(`${request.headers.host?.replace(/:\d+$/, '')}${request.url}`)
    served.answer(request, response)
  })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('tlsClientError', () => {})
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((closed) => server.close(closed))
  })
  const served: PolicyHost = {
    host,
    port: (server.address() as AddressInfo).port,
    answer,
    requests: [],
  }
  return served
}
