import { isIP } from 'node:net'

/** What a browser says about the page that makes a request. */
interface RequestSource {
  /** The Origin field. */
  origin: string | undefined
  /** The Sec-Fetch-Site field. */
  site: string | undefined
  /** The Host field. */
  host: string | undefined
}

/** True if the server may show its own pages at the host of this Host field. */
export function isOwnHost(host: string, baseUrl: string): boolean {
  const name = (/^\[([^\]]*)\]/.exec(host)?.[1] ?? host.split(':', 1)[0] ?? '').toLowerCase()
  return name === new URL(baseUrl).hostname.replace(/^\[|\]$/g, '') || name === 'localhost' || isIP(name) !== 0
}

/**
 * Whether a request was made by a page of this server, or by no page at all. With requests that change something, every current browser
 * sends one of the two fields, and no page can forge them; if neither is present, the client is not a browser.
 */
export function isOwnRequest({ origin, site, host }: RequestSource, baseUrl: string): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin === undefined) return true
  const url = URL.parse(origin)
  // A proxy may use another scheme outside, and a first login on a LAN uses an address instead of `base_url`.
  return url !== null && (url.origin === new URL(baseUrl).origin || url.host === host)
}
