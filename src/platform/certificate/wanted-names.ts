import { isIP } from 'node:net'

interface NameSettings {
  hostname: string
  baseUrl: string
  /** Whether an HTTP port with TLS is open; otherwise somebody in front has the certificates of web hosts. */
  servesHttps: boolean
  /** Verified ones. */
  trackingHosts: readonly string[]
  /** Whether the configured certificate is for this name. */
  isCovered(name: string): boolean
}

/** The names to have certificates for, the server's own first. */
export function wantedNames({ hostname, baseUrl, servesHttps, trackingHosts, isCovered }: NameSettings): string[] {
  const web = servesHttps ? [webHostOf(baseUrl), ...trackingHosts] : []
  return [...new Set([hostname, ...web])].filter((name) => name.includes('.') && isIP(name) === 0 && !isCovered(name))
}

export const webHostOf = (baseUrl: string): string => new URL(baseUrl).hostname
