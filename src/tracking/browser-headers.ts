import { readerRules, saysOneOf } from './reader-rules.ts'
import type { WeightName } from './reader-rules.ts'

/** What a browser's agent lets one expect of its header. */
interface Browser {
  isOutdated: boolean
  /** Of a desktop computer, which would have replaced it long ago. */
  isAncient: boolean
  sendsSecFetch: boolean
  /** Whether mail apps use it to fetch pictures, with what header they like. */
  isInMailApps: boolean
}

/** A header as one that a person's browser may have sent. */
export interface BrowserHeader {
  /** In lower case. */
  agent: string
  headers: Record<string, string>
  scheme: 'http' | 'https'
}

const has = (headers: Record<string, string>, name: string): boolean => (headers[name] ?? '').trim() !== ''
const hasSecFetch = (headers: Record<string, string>): boolean => has(headers, 'sec-fetch-mode') || has(headers, 'sec-fetch-site')

/** Whether nothing is missing that a browser sends of itself. */
export function isComplete({ agent, headers, scheme }: BrowserHeader): boolean {
  return has(headers, 'accept-language') && (scheme === 'http' || hasSecFetch(headers) || browserOf(agent)?.sendsSecFetch !== true)
}

/**
 * How little a header is that of the browser that it names. Over http browsers send neither Sec-Fetch nor client hints; the order
 * of the fields says nothing, since proxies change it.
 */
export function fabrication(sent: BrowserHeader, isOpen: boolean): WeightName | null {
  const { agent, headers, scheme } = sent
  const browser = browserOf(agent)
  const isBare = !has(headers, 'accept-language')
  if (isOpen && browser?.isInMailApps) return null
  if (isBare && browser?.isOutdated) return 'outdated_and_bare'
  const lacksSecFetch = browser?.sendsSecFetch === true && scheme === 'https' && !hasSecFetch(headers)
  if (isOpen) return browser && (lacksSecFetch || isBare) ? (lacksSecFetch && isBare ? 'half_a_browser' : 'half_an_open') : null
  const wantsPage = (headers.accept ?? '').includes('html')
  if (isBare && browser && (lacksSecFetch || !wantsPage)) return 'not_by_a_browser'
  if (lacksSecFetch || (isBare && agent.startsWith('mozilla/'))) return 'half_a_browser'
  if (browser && ((!wantsPage && has(headers, 'accept')) || !isNavigation(headers) || hintsDisagree(agent, headers))) return 'half_a_browser'
  return browser?.isAncient ? 'ancient' : null
}

function browserOf(agent: string): Browser | null {
  const { known, without_sec_fetch: without } = readerRules().browsers
  const rule = known.find(({ token }) => agent.includes(token))
  if (!rule) return null
  const version = numberBehind(agent, rule.token)
  const isEmbedded = saysOneOf(agent, without)
  return {
    isOutdated: version < rule.outdated_below,
    isAncient: version < (rule.ancient_below ?? 0) && !agent.includes('android'),
    sendsSecFetch: rule.sec_fetch_since !== null && version >= rule.sec_fetch_since && !isEmbedded,
    isInMailApps: rule.is_in_mail_apps === true || isEmbedded,
  }
}

/** NaN, which is neither below nor above anything, where there is none. */
function numberBehind(text: string, token: string): number {
  const at = text.indexOf(token)
  return at < 0 ? NaN : Number.parseFloat(text.slice(at + token.length, at + token.length + 12))
}

const isNavigation = (headers: Record<string, string>): boolean => ['', 'navigate'].includes((headers['sec-fetch-mode'] ?? '').trim())

/** Whether the client hints (WICG UA-CH) speak of another browser or system than the agent. */
function hintsDisagree(agent: string, headers: Record<string, string>): boolean {
  const version = numberBehind((headers['sec-ch-ua'] ?? '').slice(0, 1000).toLowerCase(), 'chromium";v="')
  if (Math.abs(version - Math.floor(numberBehind(agent, 'chrome/'))) > 0) return true
  const platform = (headers['sec-ch-ua-platform'] ?? '').toLowerCase()
  return (platform.includes('linux') && agent.includes('windows nt')) || (platform.includes('windows') && agent.includes('mac os x'))
}
