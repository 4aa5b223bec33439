import { classifyRefusal, decidingRule, judgedBy } from '../bounce/classify-refusal.ts'
import type { Judgement, Refusal } from '../bounce/refusal.ts'
import { domainOf } from '../smtp/address.ts'
import { addressesIn } from './recipient-mentions.ts'

/**
 * What a refusal means that a report quotes. A report is second-hand, and not every refusal in it was of the address: it is
 * at RCPT that a server says whether there is one, and what it calls an unknown user after the data is often a filter's
 * word. So where the words alone say so, they are believed only if the report shows that they were said at RCPT, or if a
 * code about the address (RFC 3463 3.2) stands with them. A domain that a reply calls unknown may be the sender's: there a
 * code about the route proves it too, and what is no reply is what the reporting system found out itself.
 * @param address of the recipient who was refused
 * @param answeredApart domains of which the report shows that they said it at RCPT: see `readAnsweredApart`
 */
export function judgeRefusal(refusal: Refusal, address: string | null, answeredApart: ReadonlySet<string>): Judgement {
  const rule = decidingRule(refusal)
  const judgement = judgedBy(rule, refusal)
  const shown = 'shown' in rule ? rule.shown : undefined
  if (!judgement.hard || isOfOtherName(refusal, address)) return { ...judgement, hard: false }
  if (shown === 'domain' && isOfOtherDomain(refusal, address)) return { ...judgement, hard: false }
  if (!shown || isOfAddress(refusal)) return judgement
  const isApart = refusal.phase === 'report' && answeredApart.has(domainIn(address))
  return { ...judgement, hard: shown === 'domain' ? isOfDomain(refusal) || beginsWith(address, refusal) : isApart }
}

/** What the reporting system found out itself, and so needs no proof. */
export function judgeFinding(refusal: Refusal, address: string | null): Judgement {
  const judgement = classifyRefusal(refusal)
  return isOfOtherName(refusal, address) ? { ...judgement, hard: false } : judgement
}

const domainIn = (address: string | null): string => domainOf(address ?? '').toLowerCase()

/** How the resolver of Go tells what it asked; not of the root, which is the host of a domain that takes no mail (RFC 7505). */
const asked = /\blookup ([^\s.]\S{0,254}?)\.?(?: on \S{1,80})?: no such host\b/i

/** True where a name was not found that is not the recipient's domain: of one of its hosts, or of a program next to it. */
function isOfOtherName({ text }: Refusal, address: string | null): boolean {
  const [, name] = asked.exec(text) ?? []
  return name !== undefined && name.toLowerCase() !== domainIn(address)
}

/** A domain that a reply calls unknown, by name. */
const called = /\b(?:domain|host)(?: name)?[ :]{1,2}["'<(]{0,2}([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})/gi

/** True where a reply names a domain, but not the recipient's: the sender's, or a client's. */
function isOfOtherDomain({ code, text }: Refusal, address: string | null): boolean {
  const own = domainIn(address)
  const names = code === null ? [] : Array.from(text.slice(text.indexOf(String(code))).matchAll(called), ([, name = '']) => name.toLowerCase())
  return names.length > 0 && names.every((name) => name !== own && !name.endsWith(`.${own}`) && !own.endsWith(`.${name}`))
}

const isOfAddress = ({ phase, enhancedCode }: Refusal): boolean =>
  phase === 'rcpt' || /^(?:[245]\.1\.(?:[1-9]|10)|5\.1\.0)$/.test(enhancedCode ?? '')

const isOfDomain = ({ code, enhancedCode }: Refusal): boolean => code === null || /^[245]\.4\./.test(enhancedCode ?? '')

/** Between a code and the address that a reply begins with. */
const ahead = /^[- ]{1,3}(?:#?[245]\.\d{1,3}\.\d{1,3}[ :-]{1,3})?["'<(]{0,3}(?=[^\s"'<(])/

/** `550 <a@b.example>... Host unknown`: what begins with the recipient is not about the sender's domain. */
function beginsWith(address: string | null, { code, text, phase }: Refusal): boolean {
  if (phase !== 'report' || code === null || !address?.includes('@')) return false
  const reply = text.slice(text.indexOf(String(code)) + 3, 400 + text.indexOf(String(code)))
  const words = reply.slice(ahead.exec(reply)?.[0].length ?? reply.length)
  const [first = ''] = addressesIn(words)
  return words.startsWith(first) && first.toLowerCase() === address.toLowerCase()
}
