import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { HitRecorder } from '../../readers/engagement/hit-recorder.ts'
import type { ReaderHit } from '../../readers/engagement/reader-hit.ts'
import { readByAny } from '../../platform/key-generations.ts'
import { openTarget, type LinkTarget } from '../../readers/tracking/sealed-target.ts'
import {
  readRecipientToken,
  recipientTokenLength,
  type TrackedRecipient,
  type TrackingKeys,
} from '../../readers/tracking/tracking-token.ts'
import { clientAddressRule } from './client-address.ts'

interface TrackingServices {
  /** Of each generation. */
  keys: () => readonly TrackingKeys[]
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
  /** Epoch, ms. */
  now(): number
  /** Where hits go after the response. */
  hits: Pick<HitRecorder, 'takes' | 'record'>
  /** What the domain of this tracking host serves below `/.well-known`, by file; null if the host is unknown. */
  appLinksAt(host: string): Readonly<Record<string, string>> | null
}

/** A GIF of one transparent pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const page = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Nothing here</title><p>There is nothing to see here.</p></html>'
const path = new RegExp(`^/t/([och])/([0-9a-z]{${recipientTokenLength}})(?:/([\\w-]+))?$`)
const wellKnown = /^\/\.well-known\/([\w.-]{1,100})$/
/** Evidence for recognising machines, and for readers who do not want to be tracked; `cookie` only says that there is one. */
const kept = new Set([
  'user-agent',
  'accept',
  'accept-language',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-fetch-dest',
  'sec-ch-ua',
  'sec-ch-ua-platform',
  'sec-purpose',
  'purpose',
  'x-moz',
  'x-purpose',
  'cookie',
  'dnt',
  'sec-gpc',
])
/** characters */
const maxHeaderLength = 1_000

/** The response to a tracking URL. */
interface Found {
  status: number
  type: string
  body: string | Buffer
  location?: string
  hit?: Pick<ReaderHit, 'what' | 'link' | 'links'>
}

const notFound: Found = { status: 404, type: 'text/plain; charset=utf-8', body: 'There is nothing at this address.\n' }

/**
 * Responds to tracking links before anything else looks at the request: with a pixel, or a redirect to the link's target. Machines and
 * people get the same response, and nothing delays it. Only GET is passed on, so that HEAD does not use up a link that works once. A
 * tracking host serves only these, unsubscribe links, and the files that let apps open links.
 */
export class TrackingResponder {
  readonly #services: TrackingServices
  readonly #clientAddress: ReturnType<typeof clientAddressRule>

  constructor(services: TrackingServices) {
    this.#services = services
    this.#clientAddress = clientAddressRule(services.trustedProxies)
  }

  /** False if the request is for others to handle. `req.url` is a path with its query. */
  answer(req: IncomingMessage, res: ServerResponse): boolean {
    const target = (req.url ?? '/').split('?', 1)[0] as string
    if (target.startsWith('/t/')) {
      this.#answerLink(target, req, res)
      return true
    }
    const appLinks = this.#services.appLinksAt(hostOf(req.headers))
    if (appLinks === null || target.startsWith('/u/')) return false
    const file = wellKnown.exec(target)?.[1]
    const content = file !== undefined && Object.hasOwn(appLinks, file) ? appLinks[file] : undefined
    send(req, res, content === undefined ? notFound : { status: 200, type: 'application/json', body: content })
    return true
  }

  #answerLink(target: string, req: IncomingMessage, res: ServerResponse): void {
    const [, kind = '', token = '', sealed] = path.exec(target) ?? []
    const recipient = readByAny(this.#services.keys(), (keys) => readRecipientToken(token, keys))
    const found = recipient ? this.#find({ kind, sealed, host: hostOf(req.headers) }, recipient) : notFound
    send(req, res, found)
    if (!recipient || !found.hit || !isRead(req) || !this.#services.hits.takes(recipient.recipientId)) return
    const { headers, socket } = req
    this.#services.hits.record({
      ...found.hit,
      recipientId: recipient.recipientId,
      at: this.#services.now(),
      method: req.method ?? 'GET',
      headers: headersOf(headers),
      ip: this.#clientAddress({ remoteAddress: socket.remoteAddress, forwardedFor: headers['x-forwarded-for']?.toString() }),
    })
  }

  #find({ kind, sealed, host }: { kind: string; sealed: string | undefined; host: string }, { messageTag }: TrackedRecipient): Found {
    const nothing = { link: null, links: 0 }
    if (kind === 'o' && sealed === undefined) return { status: 200, type: 'image/gif', body: pixel, hit: { what: 'open', ...nothing } }
    if (kind === 'h' && sealed === undefined)
      return { status: 200, type: 'text/html; charset=utf-8', body: page, hit: { what: 'honeypot', ...nothing } }
    const target = kind === 'c' && sealed !== undefined ? this.#openTarget(sealed, messageTag, host) : null
    const url = target && URL.parse(target.url)
    if (!url) return notFound
    const { link, links } = target
    return {
      status: 302,
      type: 'text/plain; charset=utf-8',
      body: '',
      location: url.href,
      hit: { what: `click:${link}`, link: target.url, links },
    }
  }

  /** A link at a tracking host works only there, and one at `base_url` works at no tracking host. */
  #openTarget(sealed: string, messageTag: Uint8Array, host: string): LinkTarget | null {
    const { keys, appLinksAt } = this.#services
    const isTrackingHost = appLinksAt(host) !== null
    const openAt = (trackingHost: string): LinkTarget | null =>
      readByAny(keys(), (each) => openTarget(sealed, { messageTag, trackingHost }, each))
    return openAt(host) ?? (isTrackingHost ? null : openAt(''))
  }
}

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD'

function send(req: IncomingMessage, res: ServerResponse, { status, type, body, location }: Found): void {
  const passedOn = req.method === 'GET' ? location : undefined
  res.writeHead(!isRead(req) ? 405 : location === passedOn ? status : 200, {
    'Content-Type': type,
    'Content-Length': isRead(req) ? Buffer.byteLength(body) : 0,
    'Cache-Control': 'no-store, private',
    'Referrer-Policy': 'no-referrer',
    'X-Robots-Tag': 'noindex, nofollow',
    'X-Content-Type-Options': 'nosniff',
    ...(passedOn === undefined ? {} : { Location: passedOn }),
    ...(isRead(req) ? {} : { Allow: 'GET, HEAD' }),
  })
  res.end(req.method === 'GET' ? body : undefined)
}

/** Without port and trailing dot. */
const hostOf = ({ host }: IncomingHttpHeaders): string =>
  (host ?? '')
    .replace(/:[^:\]]*$/, '')
    .replace(/\.$/, '')
    .toLowerCase()

const headersOf = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => kept.has(name))
      .map(([name, value]) => [name, name === 'cookie' ? 'there' : String(value).slice(0, maxHeaderLength)]),
  )
