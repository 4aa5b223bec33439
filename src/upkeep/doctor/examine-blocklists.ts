import type { Resolver } from '../../platform/resolver.ts'
import { reversedLabels } from '../../platform/ip-address.ts'
import { type Finding, sayOf } from './finding.ts'

/** RFC 5782 5: every list contains the first address, so a list without it is not answering us; no list contains 127.0.0.1. */
const [alwaysListed, neverListed] = ['127.0.0.2', '127.0.0.1']

/** Whether DNS blocklists (RFC 5782) contain the sending addresses. */
export async function examineBlocklists(zones: string[], addresses: string[], resolver: Resolver): Promise<Finding[]> {
  const say = sayOf('dnsbl')
  if (zones.length === 0) return [say.skipped('blocklists_none')]
  if (addresses.length === 0) return [say.skipped('blocklists_without_address')]
  return Promise.all(
    zones.map(async (zone) => {
      const ask = (address: string) => answerOf(resolver, `${reversedLabels(address)}.${zone}`)
      const [control, nobody, ...listings] = await Promise.all([ask(alwaysListed), ask(neverListed), ...addresses.map(ask)])
      const answers = listings.map((codes, i) => ({ address: addresses[i] ?? '', codes }))
      return judgeListings(zone, { control, nobody }, answers)
    }),
  )
}

/** The addresses that a list returns; null if it does not answer. */
async function answerOf(resolver: Resolver, name: string): Promise<string[] | null> {
  const { status, records } = await resolver.a(name)
  return status === 'servfail' ? null : records
}

export function judgeListings(
  zone: string,
  { control, nobody }: { control: string[] | null; nobody: string[] | null },
  answers: { address: string; codes: string[] | null }[],
): Finding {
  const say = sayOf('dnsbl')
  const all = [control, nobody, ...answers.map(({ codes }) => codes)]
  if (all.some((codes) => codes?.some(isRefusal)) || !control?.some(isListing)) {
    return say.skipped('blocklist_silent', { list: zone })
  }
  if (nobody === null || nobody.some(isListing)) return say.skipped('blocklist_lists_all', { list: zone })
  const listed = answers.filter(({ codes }) => codes?.some(isListing))
  if (listed.length > 0) {
    const words = listed.map(({ address, codes }) => `${address} (${codes?.join(', ')})`)
    return say.failed('blocklist_lists', { list: zone, addresses: words.join(', ') })
  }
  const unknown = answers.filter(({ codes }) => codes === null).map(({ address }) => address)
  if (unknown.length > 0) return say.skipped('blocklist_unknown', { list: zone, addresses: unknown.join(', ') })
  return say.ok('blocklist_fine', { list: zone, addresses: answers.map(({ address }) => address).join(', ') })
}

/** Answers in this range are errors, for example that the resolver is too large. */
const isRefusal = (code: string): boolean => code.startsWith('127.255.255.')
/** RFC 5782 2.1: an answer outside 127.0.0.0/8 comes from somebody else. */
const isListing = (code: string): boolean => code.startsWith('127.') && !isRefusal(code)
