/** The cookie of a session. It is sent only to /session, or at least accepted only there. */
export interface SessionCookie {
  /** The Set-Cookie field that sets it. */
  give(secret: string): string
  /** The Set-Cookie field that removes it. */
  takeBack(): string
  /** Its value in the Cookie field of a request; null if it is not there. */
  read(field: string | undefined): string | null
}

/**
 * With https its name starts with `__Host-`: browsers then accept it only from this host and only over TLS, but only with `Path=/` (RFC
 * 6265bis 4.1.3.2). With an http `base_url`, as in a first login on a LAN, none of that is possible. Without `maxAgeMs` it has
 * no Max-Age: the server ends sessions itself, and a browser may forget the cookie earlier.
 */
export function sessionCookie(baseUrl: string, plainName = 'sterna_session', maxAgeMs?: number): SessionCookie {
  const { protocol, pathname } = new URL(baseUrl)
  const isSecure = protocol === 'https:'
  const name = isSecure ? `__Host-${plainName}` : plainName
  const path = isSecure ? '/' : `${pathname.replace(/\/$/, '')}/session`
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  const lasting = maxAgeMs === undefined ? '' : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`
  return {
    give: (secret) => `${name}=${secret}; ${attributes}${lasting}`,
    takeBack: () => `${name}=; ${attributes}; Max-Age=0`,
    read(field = '') {
      const entry = field.split(';').find((part) => part.trim().startsWith(`${name}=`))
      return entry?.trim().slice(name.length + 1) ?? null
    },
  }
}
