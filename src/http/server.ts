import { Router } from '@koa/router'
import Koa from 'koa'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { AuditLog } from '../account/audit-log.ts'
import type { HostPort } from '../config/setting-types.ts'
import { messageOf, SternaError } from '../errors.ts'
import { answer } from './answer.ts'
import type { AnswerParts } from './answer.ts'
import type { ApiContext, ApiRouter, ApiState } from './api-state.ts'
import { authenticate, authenticateKey } from './authenticate.ts'
import type { AuthenticateParts } from './authenticate.ts'
import { doorFor } from './compat/compat-door.ts'
import type { CompatDoor } from './compat/compat-door.ts'
import { addRoutes } from './operation.ts'
import type { Operation } from './operation.ts'
import { admit } from './rate-limit-admission.ts'
import type { AdmissionParts } from './rate-limit-admission.ts'
import { serverOperations } from './server-operations.ts'
import type { ServerOperationParts } from './server-operations.ts'

export interface HttpServerParts extends AnswerParts, AuthenticateParts, AdmissionParts, ServerOperationParts {
  listen: HostPort[]
  tlsListen: HostPort[]
  /** Demanded where `tlsListen` names an address. */
  tls: TlsFiles | null
  /** Where changes are recorded. */
  audit: Pick<AuditLog, 'record'>
  /** The endpoints of the API. */
  operations: Operation[]
  /** APIs of other services, below paths of their own. */
  doors?: CompatDoor[]
}

/** PEM, both. */
interface TlsFiles {
  cert: string
  key: string
}

export interface HttpServer {
  /** Where it listens, those with TLS last. */
  addresses: AddressInfo[]
  /** Connections that stand keep theirs. */
  useCertificate(tls: TlsFiles): void
  /** Takes no more connections, lets running requests end, and after `graceMs` cuts off those that have not. */
  stop(graceMs: number): Promise<void>
}

/** A slow line may need minutes for 35 MiB, but headers come at once. */
const headersTimeoutMs = 20_000
const requestTimeoutMs = 300_000
/** Longer than the idle time of the usual proxies, which would otherwise meet connections that are just being closed. */
const keepAliveTimeoutMs = 75_000
/** How often the two times above are looked at, ms. */
const checkIntervalMs = 5_000
/** At one address; more than any of ours would need, fewer than the descriptors that everything else needs too. */
const mostConnections = 10_000
/** Requests that a client may send ahead of their answers: all that have come are worked on at once. */
const mostPipelined = 20

/**
 * Serves the API, and what the server tells of itself.
 * @throws where an address cannot be listened on
 */
export async function startHttpServer(parts: HttpServerParts): Promise<HttpServer> {
  let isStopping = false
  const handle = guarded(application(parts, () => isStopping).callback())
  const servers: Server[] = []
  const options = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  }
  try {
    for (const address of parts.listen) servers.push(await listening(createServer(options, handle), 'http.listen', address))
    for (const address of parts.tlsListen) {
      if (!parts.tls) throw new SternaError('configuration', 'http.tls_listen needs a certificate: set tls.cert and tls.key.')
      const server = new TlsServer({ ...options, cert: parts.tls.cert, key: parts.tls.key }, handle)
      servers.push(await listening(server, 'http.tls_listen', address))
    }
  } catch (error) {
    await stopServers(servers, 0)
    throw error
  }
  return {
    addresses: servers.map((server) => server.address() as AddressInfo),
    useCertificate({ cert, key }) {
      for (const server of servers) if (server instanceof TlsServer) server.setSecureContext({ cert, key })
    },
    stop(graceMs) {
      isStopping = true
      return stopServers(servers, graceMs)
    },
  }
}

/** What has to be seen to before the framework gets a request. */
function guarded(handle: RequestListener): RequestListener {
  const inHand = new WeakMap<Socket, number>()
  return (req, res) => {
    const { socket } = req
    const count = (inHand.get(socket) ?? 0) + 1
    if (count > mostPipelined) return void socket.destroy()
    inHand.set(socket, count)
    res.once('close', () => inHand.set(socket, (inHand.get(socket) ?? 1) - 1))
    req.url = originForm(req.url ?? '/')
    handle(req, res)
  }
}

/** The target as a path: proxies may send a whole URL (RFC 9112 3.2.2), and others anything. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const url = URL.parse(target)
  return url?.pathname.startsWith('/') ? url.pathname + url.search : '/'
}

const lostConnection = new Set<unknown>(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT'])

function application(parts: HttpServerParts, isStopping: () => boolean): Koa<ApiState> {
  const app = new Koa<ApiState>()
  // What is behind a path must be behind the same letters as what guards it.
  const router: ApiRouter = new Router<ApiState>({ sensitive: true })
  const operations = [...parts.operations]
  operations.push(...serverOperations(parts, () => operations))
  for (const declared of operations) addRoutes(router, declared, parts.audit)
  const doors = parts.doors ?? []
  for (const door of doors) door.addRoutes(router)
  app.on('error', (error: Error & { code?: unknown }, ctx?: Koa.Context) => {
    // Clients come and go as they like.
    if (lostConnection.has(error.code) || (ctx && (ctx.res.destroyed || !ctx.req.complete))) parts.log.debug({ error }, 'a client left before it had its answer')
    else parts.log.error({ error }, 'an answer could not be sent')
  })
  app.use(async (ctx, next) => {
    await next()
    // Otherwise the connection would be kept for a next request, and the server would wait for its end.
    if (isStopping()) ctx.set('Connection', 'close')
  })
  app.use(answer(parts))
  app.use((ctx, next) => {
    // Clients that join "…/api/" and "/emails" mean the same path.
    if (ctx.path.includes('//')) ctx.path = ctx.path.replace(/\/{2,}/g, '/')
    if (ctx.path === '/api' || ctx.path.startsWith('/api/')) admit(ctx as ApiContext, parts, () => authenticate(ctx as ApiContext, parts))
    const door = doorFor(ctx.path, doors)
    if (door) {
      ctx.state.refusalForm = door.refusalForm
      admit(ctx as ApiContext, parts, () => authenticateKey(door.tokenOf(ctx as ApiContext), parts))
    }
    return next()
  })
  app.use(router.routes())
  app.use((ctx) => refuseRoute(ctx as ApiContext, router))
  return app
}

/** Nothing answers here: there is no such path, or not with this method. */
function refuseRoute(ctx: ApiContext, router: ApiRouter): never {
  const methods = new Set(router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods))
  if (methods.size > 0) throw methodNotAllowed(ctx, [...methods])
  throw new SternaError('not_found', 'There is nothing at this path.')
}

function methodNotAllowed(ctx: ApiContext, allowed: string[]): SternaError {
  ctx.set('Allow', allowed.toSorted().join(', '))
  return new SternaError('method_not_allowed', `The method ${ctx.method} does not work here; use ${allowed.toSorted().join(', ')}.`)
}

async function listening(server: Server, setting: string, { host, port }: HostPort): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.maxConnections = mostConnections
  server.once('error', reject).listen({ host, port }, resolve)
  try {
    await promise
  } catch (error) {
    const message = `${setting}: cannot listen on ${host} port ${port}: ${messageOf(error)}`
    throw new SternaError('configuration', message, { cause: error })
  }
  server.off('error', reject)
  return server
}

async function stopServers(servers: Server[], graceMs: number): Promise<void> {
  const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())))
  const deadline = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), graceMs)
  await Promise.all(closed)
  clearTimeout(deadline)
}
