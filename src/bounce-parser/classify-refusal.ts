import { bounceRules, type BounceRule, type EnhancedCode } from './bounce-rules.ts'
import type { Judgement, Refusal } from './refusal.ts'
import { saidWords, type SaidWords } from './said-phrases.ts'

/**
 * What a refusal means, the same for a reply and for a report: the first rule of config/bounce-rules.json that fits, else
 * its enhanced code, else the rules for those without one. A 4yz that says in plain words that there is no such address is
 * judged hard too; whether the mail is given up for it is for the caller to say.
 */
export function classifyRefusal(refusal: Refusal): Judgement {
  return judgedBy(decidingRule(refusal), refusal)
}

/** What a refusal means that this rule or code decides. */
export function judgedBy(rule: BounceRule | EnhancedCode, refusal: Refusal): Judgement {
  const { category, hard } = rule
  // Whether an address exists is told at RCPT or, by some, after the data; a refusal before that is about us.
  if (hard && isBeforeRecipient(refusal)) return { category: 'policy', hard: false }
  return 'shown' in rule && rule.shown === 'address' ? { category, hard, inWords: true } : { category, hard }
}

/** The rule or the code that decides. */
export function decidingRule(refusal: Refusal): BounceRule | EnhancedCode {
  const { ignored, rules, enhancedCodes, rulesWithoutCode } = bounceRules()
  const said = saidWords(refusal.text, undefined, ignored)
  const fitting = (rule: BounceRule): boolean => isFor(rule, refusal) && isSaid(rule, said)
  const found = rules.find(fitting) ?? meaningOf(refusal.enhancedCode, enhancedCodes) ?? rulesWithoutCode.find(fitting)
  if (!found) throw new RangeError('The last rule of rulesWithoutCode must fit every refusal.')
  return found
}

/** RFC 7505 4.1 and RFC 7504 3 speak of the recipient's domain and host, whenever they are said. */
const isBeforeRecipient = ({ phase, code }: Refusal): boolean =>
  (phase === 'banner' || phase === 'ehlo' || phase === 'starttls' || phase === 'mail') && code !== 521 && code !== 556

/**
 * Of `5.7.606`, which is not registered, what is registered for `5.7.0`. A detail of 0 and what belongs to `other` say nothing;
 * 4.1.1 alone is not for ever.
 */
function meaningOf(enhancedCode: string | null, registered: Map<string, EnhancedCode>): EnhancedCode | undefined {
  const [status, subject, detail] = enhancedCode?.split('.') ?? []
  if (!subject || !detail || detail === '0') return undefined
  const found = registered.get(`${subject}.${detail}`) ?? registered.get(`${subject}.0`)
  if (!found || found.category === 'other') return undefined
  return { ...found, hard: found.hard && status === '5' }
}

function isFor({ phases, codes, enhancedCodes, hosts }: BounceRule, { phase, code, enhancedCode, remoteHost }: Refusal): boolean {
  if (phases && !phases.includes(phase)) return false
  if (codes && !(code !== null && (codes.includes(code) || codes.includes(Math.floor(code / 100))))) return false
  if (enhancedCodes && !formsOf(enhancedCode).some((form) => enhancedCodes.includes(form))) return false
  return !hosts || (remoteHost !== null && hosts.some((domain) => remoteHost === domain || remoteHost.endsWith(`.${domain}`)))
}

function isSaid(rule: BounceRule, said: SaidWords): boolean {
  const { says, unless } = bounceRules().phrases.get(rule) ?? {}
  return (!says || says(said)) && !unless?.(said)
}

/** `5.1.1` is also `1.1` and `1`. */
const formsOf = (code: string | null): string[] => (code === null ? [] : [code, code.slice(2), code.split('.')[1] ?? ''])
