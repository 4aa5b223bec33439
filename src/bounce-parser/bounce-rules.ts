import { readFileSync } from 'node:fs'
import { patternOf } from './phrase-pattern.ts'
import type { Judgement, Refusal, RefusalPhase } from './refusal.ts'
import { phrasesOf, type Phrases } from './said-phrases.ts'

/** A rule as it is written in config/bounce-rules.json; everything that it names must fit. */
export interface BounceRule extends Judgement {
  name: string
  phases?: RefusalPhase[]
  /** Reply codes; `5` is every one that begins with it. */
  codes?: number[]
  /** `5.1.1`, or `1.1` of any class, or `1` for its whole subject. */
  enhancedCodes?: string[]
  /** Domains that the remote host is in. */
  hosts?: string[]
  /** Phrases of which one is in the text; see `patternOf`. */
  says?: string[]
  /** The same phrases in other languages than English, by language, each with a reply of its own. */
  languages?: Record<string, { says: string[]; example: BounceRule['example'] }>
  /** Phrases of which none is in the text. */
  unless?: string[]
  /** What a report must show besides the words for them to be hard: see `judgeRefusal`. */
  shown?: 'address' | 'domain'
  /** The reply that the rule was made for; absent where its languages have theirs. */
  example?: Pick<Refusal, 'phase' | 'text'> & Partial<Refusal>
}

/** An enhanced code of the IANA registry, without its class. */
export interface EnhancedCode extends Judgement {
  code: string
  /** As the registry has it. */
  meaning: string
}

interface RuleSource {
  terms: Record<string, string[]>
  /** What systems write before every reply they quote, and what means nothing. */
  ignored: string[]
  /** What stands above an enhanced code. In order: the first that fits decides. */
  rules: BounceRule[]
  enhancedCodes: EnhancedCode[]
  /** For replies whose enhanced code says nothing. The last one fits everything. */
  rulesWithoutCode: BounceRule[]
}

interface BounceRules extends Omit<RuleSource, 'terms' | 'ignored' | 'enhancedCodes'> {
  ignored: RegExp
  enhancedCodes: Map<string, EnhancedCode>
  /** What a rule says, and what it must not say. */
  phrases: Map<BounceRule, { says: Phrases | null; unless: Phrases | null }>
}

let compiled: BounceRules | undefined

/** The rules of config/bounce-rules.json, read when they are first asked for; their patterns are made when a text needs them. */
export function bounceRules(): BounceRules {
  compiled ??= compile(JSON.parse(readFileSync(new URL('../../config/bounce-rules.json', import.meta.url), 'utf8')) as RuleSource)
  return compiled
}

const saidBy = ({ says, languages }: BounceRule): string[] | undefined =>
  says ?? (languages && Object.values(languages).flatMap((language) => language.says))

function compile({ terms, ignored, rules, enhancedCodes, rulesWithoutCode }: RuleSource): BounceRules {
  const prepare = (phrases: string[] | undefined): Phrases | null => (phrases ? phrasesOf(phrases, terms) : null)
  return {
    ignored: new RegExp(patternOf(ignored, terms), 'g'),
    rules,
    rulesWithoutCode,
    enhancedCodes: new Map(enhancedCodes.map((entry) => [entry.code, entry])),
    phrases: new Map([...rules, ...rulesWithoutCode].map((rule) => [rule, { says: prepare(saidBy(rule)), unless: prepare(rule.unless) }])),
  }
}
