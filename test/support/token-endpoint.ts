import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A token endpoint (RFC 6749 3.2) on loopback that gives one application tokens for one scope, until the end of the test. */
export interface TokenEndpoint {
  port: number
  /** What it wants to see. */
  application: { clientId: string; clientSecret: string | null; scope: string }
  /** The refresh token that it takes; it gives another one each time. */
  refreshToken: string
  /** The code that it takes, and for which code challenge; null: none. */
  code: { code: string; challenge: string } | null
  /** How long its access tokens last, seconds. */
  lifeSeconds: number
  /** What it answers before it looks at anything; null: nothing. */
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | null
  /** The parameters of each request. */
  requests: Record<string, string>[]
  /** The access tokens that it has given, the last at the end; whoever takes one away here has revoked it. */
  given: string[]
  /** Whose they are: what it answers to whoever asks with a token, as Dovecot does. */
  user: string
}

export const refuseWith =
  (status: number, error: string, description?: string) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    answer(response, status, { error, ...(description !== undefined && { error_description: description }) })

/** @param tls default: plain HTTP */
export async function startTokenEndpoint(tls: Pick<ServerOptions, 'key' | 'cert'> | null): Promise<TokenEndpoint> {
  const sockets = new Set<Socket>()
  const handle = (request: IncomingMessage, response: ServerResponse): void => void serve(endpoint, request, response)
  const server = tls ? createServer(tls, handle) : createPlainServer(handle)
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((closed) => server.close(closed))
  })
  const endpoint: TokenEndpoint = {
    port: (server.address() as AddressInfo).port,
    application: { clientId: 'sterna-app', clientSecret: 'cl1ent/s3cret+', scope: 'https://outlook.office365.com/.default' },
    refreshToken: 'refresh-0',
    code: null,
    lifeSeconds: 3600,
    instead: null,
    requests: [],
    given: [],
    user: 'relay@smart.example',
  }
  return endpoint
}

async function serve(endpoint: TokenEndpoint, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') return introspect(endpoint, request, response)
  const parameters = Object.fromEntries(new URLSearchParams(await textOf(request)))
  endpoint.requests.push(parameters)
  if (endpoint.instead) return endpoint.instead(request, response)
  const refusal = refusalOf(endpoint, request, parameters)
  if (refusal !== null) return answer(response, refusal === 'invalid_client' ? 401 : 400, { error: refusal })
  const accessToken = `access-${randomBytes(600).toString('base64url')}`
  endpoint.given.push(accessToken)
  if (parameters['grant_type'] !== 'client_credentials') endpoint.refreshToken = `refresh-${endpoint.given.length}`
  answer(response, 200, {
    token_type: 'Bearer',
    expires_in: endpoint.lifeSeconds,
    access_token: accessToken,
    ...(parameters['grant_type'] !== 'client_credentials' && { refresh_token: endpoint.refreshToken }),
  })
}

function refusalOf(
  { application, refreshToken, code }: TokenEndpoint,
  request: IncomingMessage,
  given: Record<string, string>,
): string | null {
  const { clientId, clientSecret, scope } = application
  if (request.headers['content-type'] !== 'application/x-www-form-urlencoded') return 'invalid_request'
  if (given['client_id'] !== clientId) return 'unauthorized_client'
  if ((given['client_secret'] ?? null) !== clientSecret) return 'invalid_client'
  switch (given['grant_type']) {
    case 'client_credentials':
      return given['scope'] === scope ? null : 'invalid_scope'
    case 'refresh_token':
      return given['refresh_token'] === refreshToken ? null : 'invalid_grant'
    case 'authorization_code': {
      // RFC 7636 4.6
      const challenge = createHash('sha256')
        .update(given['code_verifier'] ?? '')
        .digest('base64url')
      const isRight =
        code !== null && given['code'] === code.code && challenge === code.challenge && given['redirect_uri'] === 'http://localhost'
      return isRight ? null : 'invalid_grant'
    }
    default:
      return 'unsupported_grant_type'
  }
}

/** Who a token is of, for Dovecot. */
function introspect({ given, user }: TokenEndpoint, request: IncomingMessage, response: ServerResponse): void {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  if (!given.includes(token)) return answer(response, 401, { error: 'invalid_token' })
  answer(response, 200, { active: true, username: user, email: user })
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
