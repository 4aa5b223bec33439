import { expect, test } from 'vitest'
import {
  adviseDmarc,
  type DmarcObservation,
  type ObservedSource,
  type SourceOrigin,
} from '../../../src/mail-back/domain-report/dmarc-advice.ts'

const source = (origin: SourceOrigin, messages: number, failed: number, sourceIp = '192.0.2.25'): ObservedSource => ({
  sourceIp,
  origin,
  messages,
  failed,
})
const none = { policy: 'none', isOnTrial: false } as const
const quarantine = { policy: 'quarantine', isOnTrial: false } as const

test.each<[string, DmarcObservation, { step: string; policy?: string | null; reason: RegExp }]>([
  [
    'nothing is published',
    { published: { fault: 'missing' }, days: 30, sources: [source('ours', 1000, 0)] },
    { step: 'publish', policy: 'none', reason: /no DMARC record/ },
  ],
  [
    'several are published',
    { published: { fault: 'several' }, days: 30, sources: [source('ours', 1000, 0)] },
    { step: 'repair', reason: /several DMARC records/ },
  ],
  [
    'it was published with quotation marks',
    { published: { fault: 'quoted', text: 'v=DMARC1; p=none' }, days: 30, sources: [source('ours', 1000, 0)] },
    { step: 'repair', reason: /quotation marks/ },
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
    { step: 'tighten', policy: 'quarantine', reason: /100 % of 100 messages in 7 days/ },
  ],
  [
    '98 % pass',
    { published: none, days: 7, sources: [source('ours', 980, 0), source('other', 20, 20)] },
    { step: 'tighten', policy: 'quarantine', reason: /98 %/ },
  ],
  [
    'less than 98 % pass',
    { published: none, days: 7, sources: [source('ours', 979, 0), source('other', 21, 21)] },
    { step: 'fix', reason: /97\.9 % of the mail passed; 98 %/ },
  ],
  [
    '98 % pass under quarantine',
    { published: quarantine, days: 7, sources: [source('ours', 980, 0), source('other', 20, 20)] },
    { step: 'fix', reason: /98 % of the mail passed; 99 %/ },
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
    { published: { policy: 'reject', isOnTrial: false }, days: 7, sources: [source('ours', 10, 10)] },
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
    'quarantine, on trial',
    { published: { policy: 'quarantine', isOnTrial: true }, days: 7, sources: [source('ours', 500, 0)] },
    { step: 'tighten', policy: 'quarantine', reason: /quarantine/ },
  ],
  [
    'reject',
    { published: { policy: 'reject', isOnTrial: false }, days: 7, sources: [source('ours', 500, 0), source('other', 500, 500)] },
    { step: 'keep', reason: /strictest/ },
  ],
])('%s', (_, observation, { step, policy = null, reason }) => {
  const advice = adviseDmarc(observation)
  expect(advice).toMatchObject({ step, policy })
  expect(advice.reasons.map(({ what }) => what).join(' ')).toMatch(reason)
})

test('lists the sources to fix, ours first, then the worst', () => {
  const others = Array.from({ length: 30 }, (_, i) => source('other', 100, i + 1, `198.51.100.${i}`))
  const { fix } = adviseDmarc({ published: none, days: 7, sources: [source('ours', 100, 0), source('forwarder', 100, 100), ...others] })
  expect(fix).toHaveLength(20)
  expect(fix[0]).toMatchObject({ sourceIp: '198.51.100.29', failed: 30 })
  const own = source('ours', 100, 50, '192.0.2.26')
  expect(adviseDmarc({ published: none, days: 7, sources: [...others, source('ours', 100, 0), own] }).fix).toEqual([own])
})
