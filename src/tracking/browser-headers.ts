import { readerRules, saysOneOf, type WeightName } from './reader-rules.ts'

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
interface BrowserHeader {
  /** In lower case. */
  agent: string
  headers: Record<string, string>
  scheme: 'http' | 'https'
}

const has = (headers: Record<string, string>, name: string): boolean => (headers[name] ?? '').trim() !== ''

/** Whether nothing is missing that a browser sends of itself. */
export const isComplete = (sent: BrowserHeader): boolean =>
  has(sent.headers, 'accept-language') && !lacksSecFetch(sent, browserOf(sent.agent))

/**
 * How little the header of a request for a page is that of the browser that it names; null where it is. Over http browsers send
 * neither Sec-Fetch nor client hints; the order of the fields says nothing, since proxies change it.
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

/** The same for a picture, which mail apps fetch too, by engines of browsers and with what fields they like. */
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
