import { expect, test } from 'vitest'
import type { Attempt } from '../../../src/mail-out/delivery/attempt.ts'
import { exposition } from '../../../src/platform/metrics/exposition.ts'
import { metricsOf, newSharedCells, type Metrics } from '../../../src/platform/metrics/metrics.ts'
import { deferral } from '../../../src/mail-out/delivery/outcome.ts'
import { DeliveryCounts } from '../../../src/mail-out/queue/delivery-counts.ts'
import type { QueuedMessage, QueuedRecipient } from '../../../src/mail-out/queue/queue-store.ts'
import { parseExposition, valueOf } from '../../support/parse-exposition.ts'

/** Real MX hosts. */
const hosts: Record<keyof Metrics['deliveryDelay'], string> = {
  google: 'gmail-smtp-in.l.google.com',
  microsoft: 'contoso-com.mail.protection.outlook.com',
  yahoo: 'mta5.am0.yahoodns.net',
  apple: 'mx01.mail.icloud.com',
  gmx: 'mx00.gmx.net',
  tonline: 'mx00.t-online.de',
  comcast: 'mx1a1.comcast.net',
  mailru: 'mxs.mail.ru',
  qq: 'mx3.qq.com',
  proofpoint: 'mxa-00000000.gslb.pphosted.com',
  mimecast: 'eu-smtp-inbound-1.mimecast.com',
  barracuda: 'd12345a.ess.barracudanetworks.com',
  simulator: 'simulator.test',
  other: 'mx.sender.example',
}

function counting() {
  const sharedCells = newSharedCells()
  const counts = new DeliveryCounts(metricsOf(sharedCells))
  const note = (mxHost: string | null, { endedAt = 6_000, ...attempt }: Partial<Attempt> & { endedAt?: number } = {}, attempts = 0) => {
    const made = { outcome: { type: 'delivered' }, mxHost, transport: 'plain', durationMs: 1_000, ...attempt } as Attempt
    counts.attempted({ firstDueAt: 1_000 } as QueuedMessage, { attempts } as QueuedRecipient, made, endedAt)
  }
  return { note, parsed: () => parseExposition(exposition([sharedCells], { version: '1', node: '1' })) }
}

test('an attempt counts for whose MX host it was made at', () => {
  const { note, parsed } = counting()
  for (const host of Object.values(hosts)) note(host)
  const attempts = parsed()
    .get('sterna_delivery_attempts_total')
    ?.samples.filter(({ labels }) => labels['outcome'] === 'delivered')
  expect(attempts?.map(({ labels, value }) => [labels['provider'], value])).toEqual(Object.keys(hosts).map((provider) => [provider, 1]))
})

test('mail that a host took counts for how it travelled', () => {
  const { note, parsed } = counting()
  for (const transport of ['plain', 'verified', 'verified', 'encrypted', null] as const) note('mx.example', { transport })
  note('mx.example', { transport: 'verified', outcome: deferral('other', 'later').outcome })
  const samples = parsed().get('sterna_delivered_by_transport_total')?.samples
  expect(samples?.map(({ labels, value }) => [labels['transport'], value])).toEqual([
    ['plain', 1],
    ['encrypted', 1],
    ['verified', 2],
  ])
})

test('a host is another, whatever it is called, and makes no series of its own', () => {
  const { note, parsed } = counting()
  const before = [...parsed().values()].flatMap(({ samples }) => samples).length
  const strange = [
    '',
    '.',
    '__proto__',
    'constructor',
    'toString',
    'other"} 1\n',
    'google.com.evil.example',
    'notgoogle.com',
    'x'.repeat(10_000),
  ]
  for (const host of [...strange, ...Array.from({ length: 5_000 }, (_, i) => `mx${i}.example`), null]) note(host)
  const after = parsed()
  expect([...after.values()].flatMap(({ samples }) => samples)).toHaveLength(before)
  expect(valueOf(after, 'sterna_delivery_attempts_total', { outcome: 'delivered', provider: 'other' })).toBe(strange.length + 5_001)
})

test('delays are from the acceptance on; that of the first attempt is counted once', () => {
  const { note, parsed } = counting()
  note(hosts.google, { outcome: { type: 'deferred', reply: null, category: 'timeout', reason: '' } })
  note(hosts.google, { endedAt: 66_000 }, 1)
  // The clock was set back.
  note(hosts.apple, { endedAt: 500, durationMs: 500 })
  const metrics = parsed()
  expect(valueOf(metrics, 'sterna_first_attempt_delay_seconds_count')).toBe(2)
  expect(valueOf(metrics, 'sterna_first_attempt_delay_seconds_sum')).toBe(4)
  expect(valueOf(metrics, 'sterna_delivery_delay_seconds_sum', { provider: 'google' })).toBe(65)
  expect(valueOf(metrics, 'sterna_delivery_delay_seconds_sum', { provider: 'apple' })).toBe(0)
  expect(valueOf(metrics, 'sterna_delivery_failures_total', { outcome: 'deferred', category: 'timeout' })).toBe(1)
})
