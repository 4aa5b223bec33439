import { BounceRules, type BounceRuleSource } from './bounce-parser/bounce-rules.ts'
import type { Judgement, Refusal } from './bounce-parser/refusal.ts'
import { ReportPhrases } from './bounce-parser/report-phrases.ts'
import type { Vocabulary } from './bounce-parser/returned-message.ts'
import { programFile } from '../platform/program.ts'

const contentOf = (name: string): unknown => JSON.parse(programFile(new URL(`../../config/${name}.json`, import.meta.url)).toString())

let rules: BounceRules | undefined
let phrases: ReportPhrases | undefined

/** The rules of `config/bounce-rules.json`, loaded on first use. */
export const bounceRules = (): BounceRules => (rules ??= new BounceRules(contentOf('bounce-rules') as BounceRuleSource))

/** The parser's vocabulary from `config/`, loaded on first use. */
export function bounceVocabulary(): Vocabulary {
  phrases ??= new ReportPhrases(contentOf('report-phrases') as Record<string, string[]>)
  return { rules: bounceRules(), phrases }
}

/** What a refusal means: see `BounceRules`. */
export const classifyRefusal = (refusal: Refusal): Judgement => bounceRules().classify(refusal)
