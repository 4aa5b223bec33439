import { networkRule } from '../../platform/ip-address.ts'
import { programFile } from '../../platform/program.ts'

/** Words of an agent, in lower case; `and` must appear too. */
interface AgentWords {
  says: string
  and?: string
}

interface BrowserRule {
  /** What precedes its version, in lower case. */
  token: string
  /** The first version that is not outdated. */
  outdated_below: number
  /** The oldest version that a desktop computer may still have, if that says anything. */
  ancient_below?: number
  /** The first version that sends Sec-Fetch fields over https; null for none. */
  sec_fetch_since: number | null
  /** Whether mail apps use it to fetch pictures, with other headers. */
  is_in_mail_apps?: boolean
}

interface NetworkSource {
  who: string
  cidrs: string[]
}

/** config/reader-rules.json as written, each rule with its source. */
interface RuleSource {
  weights: Record<WeightName, { weight: number }>
  windows_ms: Record<
    | 'instant'
    | 'before_delivery'
    | 'before_delivery_at_least'
    | 'filter_early'
    | 'honeypot'
    | 'honeypot_same_source'
    | 'burst_follower'
    | 'head_follower'
    | 'shadow'
    | 'shadow_as_a_browser'
    | 'repeated'
    | 'repeated_as_a_browser',
    number
  >
  short_mail_links: number
  repeated: { networks: number; agents: number }
  bursts: {
    some: { links: number; within_ms: number }[]
    all: { at_least: number; ms_a_link: number }[]
    flood: { clicks: number; within_ms: number }
    pair_within_ms: number
    walk: { at_least: number; within_ms: number }
  }
  agents: {
    apple_mpp: { is: string }[]
    gmail_prefetch: AgentWords[]
    image_proxies: AgentWords[]
    mail_apps: AgentWords[]
    mail_apps_on_pixel: AgentWords[]
    people: AgentWords[]
    robots: AgentWords[]
  }
  browsers: { known: BrowserRule[]; without_sec_fetch: AgentWords[] }
  prefetch_headers: { name: string; says: string }[]
  networks: Record<NetworkKind, NetworkSource[]>
}

export type WeightName =
  | 'honeypot'
  | 'honeypot_follower'
  | 'head'
  | 'head_follower'
  | 'prefetch'
  | 'apple_mpp'
  | 'gmail_prefetch'
  | 'declared'
  | 'scanner_network'
  | 'burst'
  | 'flood'
  | 'burst_follower'
  | 'pair'
  | 'walk'
  | 'no_agent'
  | 'filter_early'
  | 'filter_late'
  | 'outdated_and_bare'
  | 'not_by_a_browser'
  | 'half_a_browser'
  | 'half_an_open'
  | 'ancient'
  | 'shadow'
  | 'repeated'
  | 'as_a_browser'
  | 'before_delivery'
  | 'instant'
  | 'instant_short'
  | 'no_open'
  | 'datacentre'

type NetworkKind = 'mail_filters' | 'filters_with_people' | 'datacentres'

type ReaderRules = Omit<RuleSource, 'networks'> & {
  /** Whether an address is in one of the networks of a kind. */
  isIn: Record<NetworkKind, (address: string) => boolean>
}

let compiled: ReaderRules | undefined

/** The rules of config/reader-rules.json, loaded on first use. */
export function readerRules(): ReaderRules {
  compiled ??= compile(JSON.parse(programFile(new URL('../../../config/reader-rules.json', import.meta.url)).toString()) as RuleSource)
  return compiled
}

function compile({ networks, ...rules }: RuleSource): ReaderRules {
  const ruleOf = (kind: NetworkKind): ((address: string) => boolean) => networkRule(networks[kind].flatMap(({ cidrs }) => cidrs))
  return {
    ...rules,
    isIn: {
      mail_filters: ruleOf('mail_filters'),
      filters_with_people: ruleOf('filters_with_people'),
      datacentres: ruleOf('datacentres'),
    },
  }
}

/** Whether an agent in lower case matches one of the rules. */
export const saysOneOf = (agent: string, rules: readonly AgentWords[]): boolean =>
  rules.some(({ says, and }) => agent.includes(says) && (and === undefined || agent.includes(and)))
