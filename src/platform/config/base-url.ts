import { isLoopback } from '../ip-address.ts'
import type { HostPort } from './setting-types.ts'

/** The settings that say where the API is reached. */
interface WayToApi {
  /** Null if it was not set: the computer's own name need not lead here. */
  hostname: string | null
  listen: HostPort[]
  tlsListen: HostPort[]
  trustedProxies: string[]
}

/** The URL of the API as far as the other settings tell. */
export function defaultBaseUrl({ hostname, listen, tlsListen, trustedProxies }: WayToApi): string {
  const [plain] = listen
  const [tls] = tlsListen
  if (hostname === null || !hostname.includes('.')) {
    return plain || !tls ? `http://localhost:${plain?.port ?? 8080}` : `https://localhost:${tls.port}`
  }
  if (tls) return `https://${hostname}${tls.port === 443 ? '' : `:${tls.port}`}`
  // Somebody else must be in front, and adds TLS.
  const isBehindProxy = trustedProxies.length > 0 || listen.every(({ host }) => isThisComputer(host))
  if (!plain || isBehindProxy) return `https://${hostname}`
  return `http://${hostname}${plain.port === 80 ? '' : `:${plain.port}`}`
}

/** Why links that begin with this URL would lead nowhere; undefined if they do lead here. */
export function faultOfBaseUrl(baseUrl: string, hostname: string): string | undefined {
  if (!isPublicName(hostname) || !isThisComputer(new URL(baseUrl).hostname.replace(/^\[|\]$/g, ''))) return undefined
  return (
    `base_url: ${baseUrl} leads every reader of a link to their own computer, but hostname is ${hostname}. Set base_url ` +
    `(STERNA_BASE_URL) to where this server is reached from outside, such as https://${hostname}, or remove it to let it follow hostname.`
  )
}

const isThisComputer = (host: string): boolean => isLoopback(host) || /^(?:.+\.)?localhost$/.test(host)

/** The last labels of names that nobody can look up on the internet (RFC 2606, 6761, 6762, 8375). */
const privateSuffix = /(?:^|\.)(?:localhost|local|localdomain|test|example|invalid|internal|lan|home|home\.arpa)$/

const isPublicName = (hostname: string): boolean => hostname.includes('.') && !privateSuffix.test(hostname)
