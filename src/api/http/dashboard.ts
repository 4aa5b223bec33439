import { SternaError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { wantsPage } from '../operation/preference.ts'
import { isOwnHost } from '../resource/same-origin.ts'
import type { ApiContext } from './api-state.ts'
import type { DashboardBundle, DashboardFile } from './dashboard-bundle.ts'

interface DashboardServices {
  baseUrl: string
  log: Log
  /** Builds or reads the files for this base path; null if there are none. */
  load(basePath: string): Promise<DashboardBundle | null>
}

/** Paths that are never pages of the dashboard. */
const reserved =
  /^\/(?:api|session|setup|invite|reset|u|t|preview|healthz|metrics|openapi\.json|docs|errors|compat|assets|\.well-known|favicon\.ico)(?:\/|$)/

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** RFC 6797; 30 days: a browser lets nobody past a certificate that has expired, so this lasts no longer than a mistake may. */
const strictTransport = 'max-age=2592000'

const unbuilt = `<!doctype html><html lang="en"><title>Sterna</title><h1>The dashboard is not built</h1>
<p>Run <code>npm ci &amp;&amp; npm run build</code> and start the server again. The API works without it.</p></html>`

/** Serves the dashboard to browsers: its page on every path that has nothing else to say, and its assets. */
export class Dashboard {
  readonly #services: DashboardServices
  #loading: Promise<DashboardBundle | null> | undefined

  constructor(services: DashboardServices) {
    this.#services = services
  }

  /**
   * Answers browsers that request a page or an asset. There is no dashboard on other hosts that lead here, such as a customer's
   * tracking host: nobody should be asked for a password there.
   * @param isHttpsOnly true where plain requests are sent on to https
   */
  async answer(ctx: ApiContext, isHttpsOnly = false): Promise<boolean> {
    if ((ctx.method !== 'GET' && ctx.method !== 'HEAD') || !isOwnHost(ctx.host, this.#services.baseUrl)) return false
    const asset = /^\/assets\/([\w.-]+)$/.exec(ctx.path)?.[1]
    if (asset !== undefined) return this.#answerAsset(ctx, asset)
    if (reserved.test(ctx.path) || !wantsPage(ctx.req.headers.accept)) return false
    const bundle = await this.#bundle()
    setPageHeaders(ctx)
    if (isHttpsOnly && ctx.secure) ctx.set('Strict-Transport-Security', strictTransport)
    if (bundle) return send(ctx, bundle.shell, 'no-cache')
    ctx.status = 503
    ctx.type = 'text/html; charset=utf-8'
    ctx.body = unbuilt
    return true
  }

  async #answerAsset(ctx: ApiContext, name: string): Promise<boolean> {
    const file = (await this.#bundle())?.assets.get(name)
    if (!file) throw new SternaError('not_found', 'The dashboard has no such file, or no longer: load the page again.')
    return send(ctx, file, 'public, max-age=31536000, immutable')
  }

  #bundle(): Promise<DashboardBundle | null> {
    const { load, log, baseUrl } = this.#services
    this.#loading ??= load(new URL(baseUrl).pathname.replace(/\/$/, '')).then(
      (bundle) => {
        if (!bundle) log.warn({}, 'the dashboard is not built: run npm ci && npm run build')
        return bundle
      },
      (error: unknown) => {
        log.error({ error }, 'the dashboard could not be built')
        return null
      },
    )
    return this.#loading
  }
}

function setPageHeaders(ctx: ApiContext): void {
  ctx.set({
    'Content-Security-Policy': policy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
  })
}

function send(ctx: ApiContext, file: DashboardFile, caching: string): true {
  ctx.status = 200
  ctx.set({ ETag: file.etag, 'Cache-Control': caching, 'X-Content-Type-Options': 'nosniff' })
  ctx.vary('Accept')
  ctx.vary('Accept-Encoding')
  if (ctx.fresh) {
    ctx.status = 304
    return true
  }
  const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity') as 'br' | 'gzip' | 'identity'
  if (encoding === 'br' || encoding === 'gzip') ctx.set('Content-Encoding', encoding)
  ctx.type = file.type
  ctx.body = file[encoding || 'identity']
  return true
}
