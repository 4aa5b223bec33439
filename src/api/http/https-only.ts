import { SternaError } from '../../platform/errors.ts'
import { wantsPage } from '../operation/preference.ts'
import type { ApiContext } from './api-state.ts'

interface HttpsOnlyServices {
  /** An https URL. */
  baseUrl: string
  /** Whether clients find a certificate here that is valid for the name. */
  hasCertificate(name: string): boolean
  /** Whether the request came by a trusted proxy. */
  isProxied(req: ApiContext['req']): boolean
}

/** What pages ask for, with passwords and cookies. */
const pageRequests = /^\/(?:session|setup|invite|reset)(?:\/|$)/
/** A monitor's, and one-click unsubscribes, which no receiver sends twice (RFC 8058 3.1). */
const answeredPlainly = /^\/(?:healthz$|u\/)/

/**
 * Sends plain requests on to https, as soon as a certificate is there. A request that brings a secret is refused instead: if it were merely
 * sent on, a client with an http URL would go on showing its key to the whole way.
 */
export class HttpsOnly {
  readonly #services: HttpsOnlyServices
  readonly #origin: string
  readonly #host: string

  constructor(services: HttpsOnlyServices) {
    this.#services = services
    ;({ origin: this.#origin, hostname: this.#host } = new URL(services.baseUrl))
  }

  /** False as long as browsers would only find a certificate that they do not trust. */
  get isInForce(): boolean {
    return this.#services.hasCertificate(this.#host)
  }

  /**
   * False if the request is for others to handle.
   * @throws SternaError `https_required`
   */
  answer(ctx: ApiContext): boolean {
    if (ctx.secure || !this.isInForce || !this.#isPlain(ctx) || answeredPlainly.test(ctx.path)) return false
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    // The form was loaded before the certificate came. It is shown again, over https.
    const isForm = !isRead && pageRequests.test(ctx.path) && wantsPage(ctx.req.headers.accept)
    if (!isForm && bringsSecret(ctx, isRead)) throw new SternaError('https_required', `Use ${this.#origin}. ${exposed}`)
    // Kept by nobody, so that a server whose operator goes back to plain HTTP is found again.
    ctx.set({ Location: `${this.#origin}${ctx.req.url ?? '/'}`, 'Cache-Control': 'no-store' })
    ctx.status = isForm ? 303 : 308
    ctx.body = `This server is at ${this.#origin}\n`
    ctx.req.resume()
    return true
  }

  /** What a proxy hands on without saying how it came may have come by https. */
  #isPlain({ req }: ApiContext): boolean {
    const [scheme = ''] = String(req.headers['x-forwarded-proto'] ?? '').split(',')
    return !this.#services.isProxied(req) || scheme.trim().toLowerCase() === 'http'
  }
}

const exposed = 'This request came without TLS, so its key or password could be read on the way: replace it.'

const bringsSecret = ({ req, path }: ApiContext, isRead: boolean): boolean =>
  req.headers.authorization !== undefined ||
  path.startsWith('/compat/') ||
  // Also for a page that was loaded before the certificate came: a browser would not let it follow the redirect.
  (pageRequests.test(path) && (!isRead || path.startsWith('/session')))
