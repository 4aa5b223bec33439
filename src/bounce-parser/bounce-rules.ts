import { PhraseBook } from './phrase-book.ts'
import type { Judgement, Refusal, RefusalPhase } from './refusal.ts'
import { wordsOf } from './reply-words.ts'

/** A rule as it is written in config/bounce-rules.json; everything that it names must fit. */
export interface BounceRule extends Judgement {
  name: string
  phases?: RefusalPhase[]
  /** Reply codes; `5` is every one that begins with it. */
  codes?: number[]
  /** `5.1.1`, or `1.1` of any class, or `1` for its whole subject. */
  enhancedStatuses?: string[]
  /** Domains that the remote host is in. */
  hosts?: string[]
  /** Phrases of which one is in the text; see `PhraseBook`. */
  says?: string[]
  /** The same phrases in other languages than English, by language, each with a reply of its own. */
  languages?: Record<string, { says: string[]; example: BounceRule['example'] }>
  /** Phrases of which none is in the text. */
  unless?: string[]
  /** What a report must show besides the words for them to be hard: see `refusedRecipient`. */
  shown?: 'address' | 'domain'
  /** The reply that the rule was made for; absent where its languages have theirs. */
  example?: Pick<Refusal, 'phase' | 'text'> & Partial<Refusal>
}

/** An enhanced code of the IANA registry, without its class. */
export interface EnhancedStatus extends Judgement {
  code: string
  /** As the registry has it. */
  meaning: string
}

/** The content of config/bounce-rules.json. */
export interface BounceRuleSource {
  terms: Record<string, string[]>
  /** What systems write before every reply they quote, and what means nothing: words, and alternatives in brackets. */
  ignored: string[]
  /** What stands above an enhanced code. In order: the first that fits decides. */
  rules: BounceRule[]
  enhancedStatuses: EnhancedStatus[]
  /** For replies whose enhanced code says nothing. The last one fits everything. */
  rulesWithoutCode: BounceRule[]
}

/** What refusals mean, the same for a reply and for a report. */
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
   * The first rule that fits decides, else the enhanced code, else the rules for refusals without one. A 4yz that says in plain words
   * that there is no such address is judged hard too; whether the mail is given up for it is for the caller to say.
   */
  classify(refusal: Refusal): Judgement {
    return judgementOf(this.deciding(refusal), refusal)
  }

  /** All rules, in their order. */
  get all(): readonly BounceRule[] {
    return [...this.#source.rules, ...this.#source.rulesWithoutCode]
  }

  /** The rule or the code that decides. */
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
   * Of `5.7.606`, which is not registered, what is registered for `5.7.0`. A detail of 0 and what belongs to `other` say nothing;
   * 4.1.1 alone is not for ever.
   */
  #meaningOf(enhancedStatus: string | null): EnhancedStatus | undefined {
    const [status, subject, detail] = enhancedStatus?.split('.') ?? []
    if (!subject || !detail || detail === '0') return undefined
    const registered = (form: string): EnhancedStatus | undefined => this.#source.enhancedStatuses.find(({ code }) => code === form)
    const found = registered(`${subject}.${detail}`) ?? registered(`${subject}.0`)
    return found && found.category !== 'other' ? { ...found, hard: found.hard && status === '5' } : undefined
  }
}

/** What a refusal means that this rule or code decides. */
export function judgementOf(deciding: BounceRule | EnhancedStatus, { phase, code }: Refusal): Judgement {
  const { category, hard } = deciding
  // Whether an address exists is told at RCPT or, by some, after the data; a refusal before that is about us. Of the recipient's
  // domain and host speak RFC 7505 4.1 and RFC 7504 3, whenever they are said.
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
