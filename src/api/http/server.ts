import Koa from 'koa'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Stream } from 'node:stream'
import type { SecureContext } from 'node:tls'
import type { ChallengeAnswers } from '../../platform/certificate/challenge-answers.ts'
import { ciphersOfHttp } from '../../platform/certificate/served-ciphers.ts'
import { sessionIdContext } from '../../platform/certificate/ticket-keys.ts'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'
import type { HostPort } from '../../platform/config/setting-types.ts'
import type { SlotFigures } from '../../platform/connection/connection-slots.ts'
import { listen } from '../../platform/connection/listen.ts'
import { SternaError } from '../../platform/errors.ts'
import { answerChallenge, tlsOptionsOf } from './answer-challenge.ts'
import { answer, type AnswerServices } from './answer.ts'
import type { ApiContext, ApiRoutes, ApiState } from './api-state.ts'
import { authenticate, authenticateKey, type AuthenticateServices } from '../operation/authenticate.ts'
import { addCompatRoutes, compatApiFor, type CompatApi } from './compat/compat-api.ts'
import type { Dashboard } from './dashboard.ts'
import { HttpConnections } from './http-connections.ts'
import { HttpsOnly } from './https-only.ts'
import { needsKey, type Operation } from '../operation/operation.ts'
import { admit, type AdmissionServices } from './rate-limit-admission.ts'
import { RouteTable } from './route-table.ts'
import { addRoutes, type RouteServices } from './routes.ts'
import { serverOperations, type ServerOperationServices } from './server-operations.ts'
import type { TrackingResponder } from './tracking-responder.ts'

export interface HttpServerServices
  extends AnswerServices, AuthenticateServices, AdmissionServices, RouteServices, ServerOperationServices {
  listen: HostPort[]
  tlsListen: HostPort[]
  /** The limit for all addresses together. */
  maxConnections: number
  /** Required if `tlsListen` names an address. */
  tls: TlsFiles | null
  /**
   * Whether clients find a certificate here that is valid for a name, where plain requests are sent on to https once there is one for
   * `baseUrl`; null where plain HTTP stays.
   */
  hasCertificate?: ((name: string) => boolean) | null
  /** What authorities look for when we order certificates; null if we order none. */
  challenges?: ChallengeAnswers | null
  /** Answers tracking links, and all that comes to tracking hosts. */
  trackingResponder: Pick<TrackingResponder, 'answer'>
  /** The endpoints of the API. */
  operations: Operation[]
  /** The compat APIs, below paths of their own. */
  compatApis?: CompatApi[]
  /** Null where it is switched off. */
  dashboard?: Dashboard | null
}

export interface HttpServer {
  /** Where it listens; addresses with TLS come last. */
  addresses: AddressInfo[]
  connections(): SlotFigures
  /** Existing connections keep theirs. */
  useCertificate(tls: Pick<TlsFiles, 'cert' | 'key' | 'tickets'>): void
  /** Accepts no more connections, lets running requests finish, and cuts off those that have not after `graceMs`. */
  stop(graceMs: number): Promise<void>
}

/** Headers are sent at once. */
const headersTimeoutMs = 20_000
/** 35 MiB over a slow line; slower clients are disconnected much earlier, see `HttpConnections`. */
const requestTimeoutMs = 30 * 60_000
/** Longer than the idle time-out of common proxies, which would otherwise reuse connections that are just being closed. */
const keepAliveTimeoutMs = 75_000
/** How often header and request time-outs are checked, ms: many at once must not add up to one long turn. */
const checkIntervalMs = 500

/**
 * Serves the API and the endpoints about the server itself.
 * @throws if it cannot listen on an address
 */
export async function startHttpServer(services: HttpServerServices): Promise<HttpServer> {
  let isStopping = false
  const connections = new HttpConnections(services)
  const handle = guarded(connections, services, application(services, connections, () => isStopping).callback())
  const servers: Server[] = []
  const options = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  }
  const open = async (server: Server, setting: string, address: HostPort, all: HostPort[]): Promise<void> => {
    connections.watch(server)
    await listen(server, address, { setting, all, log: services.log })
    servers.push(server)
  }
  try {
    for (const address of services.listen) await open(createServer(options, handle), 'http.listen', address, services.listen)
    for (const address of services.tlsListen) {
      if (!services.tls) throw new SternaError('configuration', 'http.tls_listen needs a certificate: set tls.cert and tls.key.')
      const tlsOptions = { ...options, handshakeTimeout: headersTimeoutMs, ...tlsOptionsOf(services.tls, services.challenges ?? null) }
      const server = new TlsServer(tlsOptions, handle)
      shareTickets(server, services.tls)
      await open(server, 'http.tls_listen', address, services.tlsListen)
    }
  } catch (error) {
    await stopServers(servers, 0)
    throw error
  }
  return {
    addresses: servers.map((server) => server.address() as AddressInfo),
    connections: () => connections.figures,
    useCertificate({ cert, key, tickets }) {
      for (const server of servers) {
        if (!(server instanceof TlsServer)) continue
        server.setSecureContext({ cert, key, ciphers: ciphersOfHttp, sessionIdContext })
        shareTickets(server, { tickets })
      }
    },
    stop(graceMs) {
      isStopping = true
      return stopServers(servers, graceMs)
    },
  }
}

/** The server's context is where a client's ticket is looked at, before it has named a host; only an internal name leads to it. */
const shareTickets = (server: TlsServer, { tickets }: Pick<TlsFiles, 'tickets'>): void =>
  tickets?.prepare((server as unknown as { _sharedCreds: SecureContext })._sharedCreds)

/** What must be handled before the framework gets a request. */
function guarded(
  connections: HttpConnections,
  { trackingResponder, challenges }: Pick<HttpServerServices, 'trackingResponder' | 'challenges'>,
  handle: RequestListener,
): RequestListener {
  return (req, res) => {
    if (!connections.begin(req, res)) return
    req.url = originForm(req.url ?? '/')
    if (hasSeveralHosts(req)) return handle(req, res)
    if (challenges && answerChallenge(req, res, challenges)) return
    if (!trackingResponder.answer(req, res)) handle(req, res)
  }
}

/** A proxy may have gone by one of them, and we by another: such a request is refused (RFC 9112 3.2). */
const hasSeveralHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.reduce((count, name, i) => count + Number(i % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host'), 0) > 1

/** What has answers that concern one account. */
const privatePaths = /^\/(?:api|compat)(?:\/|$)/

/** The target as a path: proxies may send a whole URL (RFC 9112 3.2.2), and others may send anything. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const url = URL.parse(target)
  return url?.pathname.startsWith('/') ? url.pathname + url.search : '/'
}

const lostConnection = new Set<unknown>(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT'])

/**
 * Koa asks of a body that is an object whether it is a `Response`. Only to know what that is, Node loads its `fetch` and HTTP/2: 2 MB, and
 * a twentieth of the time to the first answer.
 */
function sendObjectsAsText({ response }: Koa<ApiState>): void {
  const ofKoa = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), 'body')!
  Object.defineProperty(response, 'body', {
    ...ofKoa,
    set(this: Koa.Response, body: unknown) {
      const isObject = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !(body instanceof Stream)
      if (isObject && !/\bjson\b/i.test(this.type)) this.type = 'json'
      ofKoa.set!.call(this, isObject ? JSON.stringify(body) : body)
    },
  })
}

function application(services: HttpServerServices, connections: HttpConnections, isStopping: () => boolean): Koa<ApiState> {
  const app = new Koa<ApiState>()
  sendObjectsAsText(app)
  const routes: ApiRoutes = new RouteTable()
  const operations = [...services.operations]
  operations.push(...serverOperations(services, () => operations))
  for (const declared of operations) addRoutes(routes, declared, services)
  const compatApis = services.compatApis ?? []
  const { hasCertificate, baseUrl, dashboard } = services
  const httpsOnly = hasCertificate ? new HttpsOnly({ baseUrl, hasCertificate, isProxied: (req) => connections.isProxied(req) }) : null
  for (const compatApi of compatApis) addCompatRoutes(routes, compatApi, services.audit)
  app.on('error', (error: Error & { code?: unknown }, ctx?: Koa.Context) => {
    // Clients come and go as they like.
    if (lostConnection.has(error.code) || (ctx && (ctx.res.destroyed || !ctx.req.complete)))
      services.log.debug({ error }, 'a client left before it got its response')
    else services.log.error({ error }, 'a response could not be sent')
  })
  const handle = async (ctx: ApiContext): Promise<void> => {
    // Clients that join "…/api/" and "/emails" mean the same path.
    if (ctx.path.includes('//')) ctx.path = ctx.path.replace(/\/{2,}/g, '/')
    if (privatePaths.test(ctx.path)) ctx.set('Cache-Control', 'no-store')
    const compatApi = compatApiFor(ctx.path, compatApis)
    if (compatApi) ctx.state.refusalForm = compatApi.refusalForm
    if (hasSeveralHosts(ctx.req)) throw new SternaError('invalid_host', 'The request has more than one Host field. Send one.')
    if (httpsOnly?.answer(ctx)) return
    const holder = compatApi
      ? () => authenticateKey(compatApi.tokenOf(ctx), ctx.state, services)
      : needsKey(ctx)
        ? () => authenticate(ctx.req.headers.authorization, ctx.state, services)
        : null
    const admitted = holder && admit(ctx, services, holder)
    if (admitted) await admitted
    if (ctx.state.caller) connections.vouch(ctx, ctx.state.caller.accountId)
    const route = routes.find(ctx.method, ctx.path)
    if (route) {
      ctx.params = route.params
      return route.handler(ctx)
    }
    if (!(await dashboard?.answer(ctx, httpsOnly?.isInForce))) refuseRoute(ctx, routes)
  }
  // A single one: for each, Koa makes closures and promises in every request.
  const answerRequest = answer(handle, isStopping, services)
  app.use((ctx) => answerRequest(ctx as ApiContext))
  return app
}

/** Nothing handles this request: the path does not exist, or does not support the method. */
function refuseRoute(ctx: ApiContext, routes: ApiRoutes): never {
  const allowed = routes.methodsAt(ctx.path).join(', ')
  if (allowed === '') throw new SternaError('not_found', 'This path does not exist.')
  ctx.set('Allow', allowed)
  throw new SternaError('method_not_allowed', `The method ${ctx.method} is not supported here; use ${allowed}.`)
}

async function stopServers(servers: Server[], graceMs: number): Promise<void> {
  const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())))
  const deadline = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), graceMs)
  await Promise.all(closed)
  clearTimeout(deadline)
}
