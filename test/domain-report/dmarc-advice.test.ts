import { expect, test } from 'vitest'
import { adviseDmarc, type DmarcObservation, type ObservedSource, type SourceOrigin } from '../../src/domain-report/dmarc-advice.ts'
import { dmarcRecordIn, withPolicy } from '../../src/domain-report/dmarc-record.ts'

const source = (origin: SourceOrigin, messages: number, failed: number, sourceIp = '192.0.2.25'): ObservedSource => ({
  sourceIp,
  origin,
  messages,
  failed,
})
const none = { policy: 'none', isPartial: false } as const
const quarantine = { policy: 'quarantine', isPartial: false } as const

test.each<[string, DmarcObservation, { step: string; policy?: string | null; reason: RegExp }]>([
  [
    'nothing is published',
    { published: null, days: 30, sources: [source('ours', 1000, 0)] },
    { step: 'publish', policy: 'none', reason: /no DMARC record/ },
  ],
  ['nothing was reported', { published: none, days: 0, sources: [] }, { step: 'wait', reason: /0 of the required 7 days/ }],
  [
    'too few days',
    { published: none, days: 6.9, sources: [source('ours', 1000, 0)] },
    { step: 'wait', reason: /6 of the required 7 days/ },
  ],
  [
    'too few messages',
    { published: none, days: 30, sources: [source('ours', 99, 0)] },
    { step: 'wait', reason: /99 of the required 100 messages/ },
  ],
  [
    'all passes',
    { published: none, days: 7, sources: [source('ours', 100, 0)] },
    { step: 'tighten', policy: 'quarantine', reason: /100\.0 % of 100 messages in 7 days/ },
  ],
  [
    '98 % pass',
    { published: none, days: 7, sources: [source('ours', 980, 0), source('other', 20, 20)] },
    { step: 'tighten', policy: 'quarantine', reason: /98\.0 %/ },
  ],
  [
    'less than 98 % pass',
    { published: none, days: 7, sources: [source('ours', 979, 0), source('other', 21, 21)] },
    { step: 'fix', reason: /97\.9 % of the mail passed; 98\.0 %/ },
  ],
  [
    '98 % pass under quarantine',
    { published: quarantine, days: 7, sources: [source('ours', 980, 0), source('other', 20, 20)] },
    { step: 'fix', reason: /98\.0 % of the mail passed; 99\.0 %/ },
  ],
  [
    '99 % pass under quarantine',
    { published: quarantine, days: 7, sources: [source('ours', 990, 0), source('other', 10, 10)] },
    { step: 'tighten', policy: 'reject', reason: /reject/ },
  ],
  [
    'our own mail fails',
    { published: none, days: 7, sources: [source('ours', 1000, 6)] },
    { step: 'fix', reason: /6 of 1000 messages from this server/ },
  ],
  [
    'our own mail fails under reject',
    { published: { policy: 'reject', isPartial: false }, days: 7, sources: [source('ours', 10, 10)] },
    { step: 'fix', reason: /from this server/ },
  ],
  [
    'a receiver failed to look a key up',
    { published: none, days: 7, sources: [source('ours', 1000, 5)] },
    { step: 'tighten', policy: 'quarantine', reason: /99\.5 %/ },
  ],
  [
    'mailing lists break signatures',
    { published: none, days: 7, sources: [source('ours', 500, 0), source('forwarder', 400, 400)] },
    { step: 'tighten', policy: 'quarantine', reason: /of 500 messages/ },
  ],
  [
    'quarantine for a tenth',
    { published: { policy: 'quarantine', isPartial: true }, days: 7, sources: [source('ours', 500, 0)] },
    { step: 'tighten', policy: 'quarantine', reason: /quarantine/ },
  ],
  [
    'reject',
    { published: { policy: 'reject', isPartial: false }, days: 7, sources: [source('ours', 500, 0), source('other', 500, 500)] },
    { step: 'keep', reason: /strictest/ },
  ],
])('%s', (_, observation, { step, policy = null, reason }) => {
  const advice = adviseDmarc(observation)
  expect(advice).toMatchObject({ step, policy })
  expect(advice.reasons.join(' ')).toMatch(reason)
})

test('lists the sources to fix, ours first, then the worst', () => {
  const others = Array.from({ length: 30 }, (_, i) => source('other', 100, i + 1, `198.51.100.${i}`))
  const { fix } = adviseDmarc({ published: none, days: 7, sources: [source('ours', 100, 0), source('forwarder', 100, 100), ...others] })
  expect(fix).toHaveLength(20)
  expect(fix[0]).toMatchObject({ sourceIp: '198.51.100.29', failed: 30 })
  const own = source('ours', 100, 50, '192.0.2.26')
  expect(adviseDmarc({ published: none, days: 7, sources: [...others, source('ours', 100, 0), own] }).fix).toEqual([own])
})

test.each([
  [null, null],
  ['v=spf1 -all', null],
  ['v=DMARC1; p=none\nv=DMARC1; p=reject', null],
  ['v=DMARC1; p=none; rua=mailto:a@b.example', { policy: 'none', isPartial: false }],
  ['v=DMARC1;p=QUARANTINE ; pct=10', { policy: 'quarantine', isPartial: true }],
  ['v=DMARC1; p=reject; pct=100', { policy: 'reject', isPartial: false }],
  ['v=DMARC1; p=reject; t=y', { policy: 'reject', isPartial: true }],
  ['v=DMARC1; rua=mailto:a@b.example', { policy: 'none', isPartial: false }],
])('the record in %j', (found, record) => {
  if (record === null) expect(dmarcRecordIn(found)).toBeNull()
  else expect(dmarcRecordIn(found)).toMatchObject(record)
})

test('changing the policy leaves the rest of the record unchanged', () => {
  expect(withPolicy('v=DMARC1; p=none; rua=mailto:a@b.example!10m,mailto:c@d.example; adkim=s;', 'quarantine')).toBe(
    'v=DMARC1; p=quarantine; rua=mailto:a@b.example!10m,mailto:c@d.example; adkim=s',
  )
  expect(withPolicy('v=DMARC1;p = quarantine;pct=10;t=y', 'reject')).toBe('v=DMARC1; p=reject')
  expect(withPolicy('v=DMARC1; rua=mailto:a@b.example', 'none')).toBe('v=DMARC1; p=none; rua=mailto:a@b.example')
})
