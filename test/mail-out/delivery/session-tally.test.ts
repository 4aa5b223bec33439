import { expect, test } from 'vitest'
import { SessionTally, type SessionSum } from '../../../src/mail-out/delivery/session-tally.ts'
import { noPolicy, type PublishedTlsPolicy, type TlsSession } from '../../../src/mail-out/delivery/tls-session.ts'

const session: TlsSession = {
  destination: 'rcpt.example',
  policy: noPolicy('rcpt.example'),
  mxHost: 'mx.rcpt.example',
  address: '192.0.2.1',
  sourceAddress: '192.0.2.9',
  failure: null,
}
const failure = { type: 'validation-failure', reason: 'no shared cipher' } as const
const sts: PublishedTlsPolicy = { type: 'sts', strings: ['version: STSv1', 'mode: enforce'], domain: 'rcpt.example', mxHosts: [] }

function startTally() {
  const handed: SessionSum[][] = []
  return { handed, tally: new SessionTally((sums) => handed.push(sums)) }
}

test('sessions that look the same in a report are summed', () => {
  const { handed, tally } = startTally()
  tally.note(session)
  // Of successes it tells no host.
  tally.note({ ...session, mxHost: 'mx2.rcpt.example', address: '192.0.2.2' })
  tally.note({ ...session, failure })
  tally.note({ ...session, failure: { ...failure, reason: 'in other words' } })
  tally.handOver()
  expect(handed).toEqual([
    [
      { ...session, sessions: 2 },
      { ...session, failure, sessions: 2 },
    ],
  ])
})

test('what was handed over is not counted again', () => {
  const { handed, tally } = startTally()
  tally.note(session)
  tally.handOver()
  tally.note(session)
  tally.handOver()
  tally.handOver()
  expect(handed.map((sums) => sums.map(({ sessions }) => sessions))).toEqual([[1], [1]])
})

test.each<[string, Partial<TlsSession>]>([
  ['domain', { destination: 'other.example' }],
  ['policy', { policy: sts }],
  ['text of a policy', { policy: { ...sts, strings: ['version: STSv1', 'mode: testing'] } }],
  ['end', { failure }],
  ['host', { failure, mxHost: 'mx2.rcpt.example' }],
  ['address', { failure, address: '192.0.2.2' }],
  ['address of ours', { failure, sourceAddress: null }],
  ['kind of failure', { failure: { ...failure, type: 'certificate-expired' } }],
])('sessions with another %s are another sum', (_, change) => {
  const { handed, tally } = startTally()
  const others: TlsSession[] = [
    session,
    { ...session, failure, sourceAddress: '192.0.2.7' },
    { ...session, policy: { ...sts, strings: [] } },
  ]
  for (const each of [...others, { ...session, ...change }]) tally.note(each)
  tally.handOver()
  expect(handed[0]?.map(({ sessions }) => sessions)).toEqual([1, 1, 1, 1])
})
