/** The cookie that a session travels in. It is sent to /session alone, or at least taken there alone. */
export interface SessionCookie {
  /** The Set-Cookie field that gives it. */
  give(secret: string): string
  /** The Set-Cookie field that takes it back. */
  takeBack(): string
  /** What the Cookie field of a request brings; null where it is not among it. */
  read(field: string | undefined): string | null
}

/**
 * With https its name begins with `__Host-`: browsers then take it from this host alone and over TLS alone, but only
 * with `Path=/` (RFC 6265bis 4.1.3.2). With an http `base_url`, as in a first login on a LAN, none of that is possible.
 * No age is set: the server ends sessions by itself, and a browser may forget earlier.
 */
export function sessionCookie(baseUrl: string): SessionCookie {
  const { protocol, pathname } = new URL(baseUrl)
  const isSecure = protocol === 'https:'
  const name = isSecure ? '__Host-sterna_session' : 'sterna_session'
  const path = isSecure ? '/' : `${pathname.replace(/\/$/, '')}/session`
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  return {
    give: (secret) => `${name}=${secret}; ${attributes}`,
    takeBack: () => `${name}=; ${attributes}; Max-Age=0`,
    read(field = '') {
      const entry = field.split(';').find((part) => part.trim().startsWith(`${name}=`))
      return entry?.trim().slice(name.length + 1) ?? null
    },
  }
}
