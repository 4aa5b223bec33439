/** What a browser says of the page that makes a request. */
interface RequestSource {
  /** The Origin field. */
  origin: string | undefined
  /** The Sec-Fetch-Site field. */
  site: string | undefined
  /** The Host field. */
  host: string | undefined
}

/**
 * Whether a request was made by a page of this server, or by no page at all. Every browser of today sends one of the
 * two fields with what changes something, and no page can forge them; where neither is there, no browser is.
 */
export function isOwnRequest({ origin, site, host }: RequestSource, baseUrl: string): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin === undefined) return true
  const url = URL.parse(origin)
  // A proxy may have another scheme outside, and a first login on a LAN goes to an address instead of `base_url`.
  return url !== null && (url.origin === new URL(baseUrl).origin || url.host === host)
}
