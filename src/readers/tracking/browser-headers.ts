import { readerRules, saysOneOf, type WeightName } from './reader-rules.ts'

/** What a browser's agent implies about its header. */
interface Browser {
  isOutdated: boolean
  /** Of a desktop computer, which would have replaced it long ago. */
  isAncient: boolean
  sendsSecFetch: boolean
  /** Whether mail apps use it to fetch pictures, with arbitrary header fields. */
  isInMailApps: boolean
}

/** Checks whether a header may come from a person's browser. */
interface BrowserHeader {
  /** In lower case. */
  agent: string
  headers: Record<string, string>
  scheme: 'http' | 'https'
}

const has = (headers: Record<string, string>, name: string): boolean => (headers[name] ?? '').trim() !== ''

/** Whether nothing is missing that a browser always sends. */
export const isComplete = (sent: BrowserHeader): boolean =>
  has(sent.headers, 'accept-language') && !lacksSecFetch(sent, browserOf(sent.agent))

/**
 * How little a page request's header fits the browser that it names; null if it fits. Over http, browsers send neither Sec-Fetch nor client
 * hints. The order of fields says nothing, because proxies change it.
 */
export function fabricatedPage(sent: BrowserHeader): WeightName | null {
  const { agent, headers } = sent
  const browser = browserOf(agent)
  const isBare = !has(headers, 'accept-language')
  const lacks = lacksSecFetch(sent, browser)
  const accepts = has(headers, 'accept') ? (headers.accept ?? '') : null
  if (!browser) return isBare && agent.startsWith('mozilla/') ? 'half_a_browser' : null
  if (isBare && browser.isOutdated) return 'outdated_and_bare'
  if (isBare && (lacks || accepts?.includes('html') !== true)) return 'not_by_a_browser'
  if (isBare || lacks || accepts?.includes('html') === false) return 'half_a_browser'
  if (!isNavigation(headers) || hintsDisagree(agent, headers)) return 'half_a_browser'
  return browser.isAncient ? 'ancient' : null
}

/** The same for a picture, which mail apps fetch too, with browser engines and arbitrary fields. */
export function fabricatedPicture(sent: BrowserHeader): WeightName | null {
  const browser = browserOf(sent.agent)
  if (!browser || browser.isInMailApps) return null
  const isBare = !has(sent.headers, 'accept-language')
  if (isBare && browser.isOutdated) return 'outdated_and_bare'
  const lacks = lacksSecFetch(sent, browser)
  if (isBare && lacks) return 'half_a_browser'
  return isBare || lacks ? 'half_an_open' : null
}

const lacksSecFetch = ({ headers, scheme }: BrowserHeader, browser: Browser | null): boolean =>
  scheme === 'https' && browser?.sendsSecFetch === true && !has(headers, 'sec-fetch-mode') && !has(headers, 'sec-fetch-site')

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

/** NaN, which is neither below nor above anything, if there is none. */
function numberBehind(text: string, token: string): number {
  const at = text.indexOf(token)
  return at < 0 ? NaN : Number.parseFloat(text.slice(at + token.length, at + token.length + 12))
}

const isNavigation = (headers: Record<string, string>): boolean => ['', 'navigate'].includes((headers['sec-fetch-mode'] ?? '').trim())

/** Whether the client hints (WICG UA-CH) name another browser or system than the agent. */
function hintsDisagree(agent: string, headers: Record<string, string>): boolean {
  const version = numberBehind((headers['sec-ch-ua'] ?? '').slice(0, 1000).toLowerCase(), 'chromium";v="')
  if (Math.abs(version - Math.floor(numberBehind(agent, 'chrome/'))) > 0) return true
  const platform = (headers['sec-ch-ua-platform'] ?? '').toLowerCase()
  return (platform.includes('linux') && agent.includes('windows nt')) || (platform.includes('windows') && agent.includes('mac os x'))
}
