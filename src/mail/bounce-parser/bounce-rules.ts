import { PhraseBook } from './phrase-book.ts'
import type { Judgement, Refusal, RefusalPhase } from './refusal.ts'
import { wordsOf } from './reply-words.ts'

/** A rule of `config/bounce-rules.json`. It matches if all its conditions match. */
interface BounceRule extends Judgement {
  name: string
  phases?: RefusalPhase[]
  /** Reply codes; `5` matches every code that begins with it. */
  codes?: number[]
  /** `5.1.1`, or `1.1` for any class, or `1` for a whole subject. */
  enhancedStatuses?: string[]
  /** Matches a remote host in one of these domains. */
  hosts?: string[]
  /** Phrases, at least one of which the text must contain; see `PhraseBook`. */
  says?: string[]
  /** The same phrases in other languages, each language with an example reply. */
  languages?: Record<string, { says: string[]; example: BounceRule['example'] }>
  /** Phrases that the text must not contain. */
  unless?: string[]
  /** What a bounce must show besides the words to count as hard: see `refusedRecipient`. */
  shown?: 'address' | 'domain'
  /** The reply that the rule was written for; absent if its languages have theirs. */
  example?: Pick<Refusal, 'phase' | 'text'> & Partial<Refusal>
}

/** A registered enhanced status code (IANA), without its class. */
interface EnhancedStatus extends Judgement {
  code: string
  /** From the registry. */
  meaning: string
}

/** The content of config/bounce-rules.json. */
export interface BounceRuleSource {
  terms: Record<string, string[]>
  /** Meaningless words, and introductions to quoted replies; alternatives in brackets. */
  ignored: string[]
  /** Rules that override an enhanced status. The first match decides. */
  rules: BounceRule[]
  enhancedStatuses: EnhancedStatus[]
  /** Rules for replies whose enhanced status says nothing. The last one matches everything. */
  rulesWithoutCode: BounceRule[]
}

/** Says what refusals mean, in replies and in bounces alike. */
export class BounceRules {
  readonly #source: BounceRuleSource
  readonly #phrases: PhraseBook<string>
  readonly #ignored: RegExp

  constructor(source: BounceRuleSource) {
    this.#source = source
    this.#phrases = new PhraseBook(this.all.flatMap(phrasesOf), source.terms)
    this.#ignored = new RegExp(` (?:${source.ignored.join('|')})(?= )`, 'g')
  }

  /**
   * The first matching rule decides, then the enhanced status, then the rules for refusals without one. A 4yz reply that plainly says that
   * the address does not exist is hard, too. Whether to give up the mail is the caller's decision.
   */
  classify(refusal: Refusal): Judgement {
    return judgementOf(this.deciding(refusal), refusal)
  }

  /** All rules in order. */
  get all(): readonly BounceRule[] {
    return [...this.#source.rules, ...this.#source.rulesWithoutCode]
  }

  /** The rule or enhanced status that decides. */
  deciding(refusal: Refusal): BounceRule | EnhancedStatus {
    const { rules, rulesWithoutCode } = this.#source
    const words = ` ${wordsOf(refusal.text).join(' ')} `.replace(this.#ignored, '')
    const said = this.#phrases.saidIn(words.trim().split(' '))
    const fits = (rule: BounceRule): boolean => isFor(rule, refusal) && isSaid(rule, said)
    const found = rules.find(fits) ?? this.#meaningOf(refusal.enhancedStatus) ?? rulesWithoutCode.find(fits)
    if (!found) throw new RangeError('The last rule of rulesWithoutCode must fit every refusal.')
    return found
  }

  /**
   * Falls back to `5.7.0` for an unregistered `5.7.606`. A detail of 0 and codes in category `other`
   * say nothing. 4.1.1 alone is not permanent.
   */
  #meaningOf(enhancedStatus: string | null): EnhancedStatus | undefined {
    const [status, subject, detail] = enhancedStatus?.split('.') ?? []
    if (!subject || !detail || detail === '0') return undefined
    const registered = (form: string): EnhancedStatus | undefined => this.#source.enhancedStatuses.find(({ code }) => code === form)
    const found = registered(`${subject}.${detail}`) ?? registered(`${subject}.0`)
    return found && found.category !== 'other' ? { ...found, hard: found.hard && status === '5' } : undefined
  }
}

/** What this rule or code says about the refusal. */
export function judgementOf(deciding: BounceRule | EnhancedStatus, { phase, code }: Refusal): Judgement {
  const { category, hard } = deciding
  // Servers reject addresses at RCPT, or some after the data. An earlier refusal is about us. RFC 7505 4.1 and RFC 7504 3 concern the
  // recipient's domain or host in every phase.
  const isBeforeRecipient = phase === 'banner' || phase === 'ehlo' || phase === 'starttls' || phase === 'mail'
  if (hard && isBeforeRecipient && code !== 521 && code !== 556) return { category: 'policy', hard: false }
  return 'shown' in deciding && deciding.shown === 'address' ? { category, hard, inWords: true } : { category, hard }
}

const unlessName = (name: string): string => `unless ${name}`

function phrasesOf({ name, says = [], languages = {}, unless = [] }: BounceRule): [string, string[]][] {
  return [
    [name, [says, ...Object.values(languages).map((language) => language.says)].flat()],
    [unlessName(name), unless],
  ]
}

const isSaid = ({ name, says, languages }: BounceRule, said: ReadonlySet<string>): boolean =>
  (said.has(name) || !(says ?? languages)) && !said.has(unlessName(name))

function isFor({ phases, codes, enhancedStatuses, hosts }: BounceRule, { phase, code, enhancedStatus, remoteHost }: Refusal): boolean {
  if (phases && !phases.includes(phase)) return false
  if (codes && !(code !== null && (codes.includes(code) || codes.includes(Math.floor(code / 100))))) return false
  if (enhancedStatuses && !formsOf(enhancedStatus).some((form) => enhancedStatuses.includes(form))) return false
  return !hosts || (remoteHost !== null && hosts.some((domain) => remoteHost === domain || remoteHost.endsWith(`.${domain}`)))
}

/** `5.1.1` is also `1.1` and `1`. */
const formsOf = (code: string | null): string[] => (code === null ? [] : [code, code.slice(2), code.split('.')[1] ?? ''])
