import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Attempt, Deferred } from '../../../src/mail-out/delivery/attempt.ts'
import { ContentRequests, type ContentAnswer } from '../../../src/mail-out/delivery/content-requests.ts'
import type { AddedField } from '../../../src/mail/message/added-field.ts'
import { deliver } from '../../../src/mail-out/delivery/deliver.ts'
import { plain } from '../../../src/mail-out/delivery/transport-policy.ts'
import { bySettings } from '../../../src/mail-out/smarthost/choose-route.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { contentOf, jobOf, linesOf, testDelivery, testMx } from '../../support/delivery-fixture.ts'
import type { FakeMx, MxAction, MxHooks, MxSession } from '../../support/fake-mx.ts'
import { hungAddresses } from '../../support/hung-addresses.ts'
import { smugglingSequences } from '../../support/smuggling-sequences.ts'

/** `deferred other`, `bounced soft policy`, `delivered` */
const told = ({ outcome }: Pick<Attempt, 'outcome'>): string => {
  if (outcome.type === 'delivered') return 'delivered'
  return outcome.type === 'deferred' ? `deferred ${outcome.category}` : `bounced ${outcome.hard ? 'hard' : 'soft'} ${outcome.category}`
}

describe('a delivered message', () => {
  it('arrives byte for byte, with the parameters that the host offers', async () => {
    const mx = await testMx()
    const text = 'Subject: dots\r\n\r\n.\r\n..\r\n.a\r\n\r\nend'
    const attempt = await testDelivery([mx]).attempt(jobOf({ text }))
    expect(attempt.outcome).toEqual({ type: 'delivered', reply: { code: 250, enhancedStatus: '2.0.0', text: '2.0.0 Ok: queued' } })
    expect(attempt).toMatchObject({ recipientId: 'rcp_1', mxHost: 'mx1.example.com', address: '127.0.0.1', tls: null, selectors: [] })
    const [message] = mx.messages
    expect(message?.data.toString()).toBe(`${text}\r\n`)
    expect(message).toMatchObject({
      mailFrom: 'bounce@sender.test',
      mailParams: `SIZE=${text.length} RET=HDRS ENVID=em_test`,
      rcptTo: ['user@example.com'],
      rcptParams: ['NOTIFY=FAILURE'],
    })
    expect(mx.sessions[0]?.commands).toEqual([
      'EHLO relay.test',
      expect.stringMatching(/^MAIL FROM:<bounce@sender\.test> /),
      'RCPT TO:<user@example.com> NOTIFY=FAILURE',
      'DATA',
    ])
  })

  it('leaves a short transcript without the message', async () => {
    const mx = await testMx()
    const { transcript } = await testDelivery([mx]).attempt()
    expect(linesOf({ transcript }).map(([, side, line]) => `${side} ${line}`)).toEqual([
      `c (mx1.example.com 127.0.0.1:${mx.port})`,
      's 220 mx.test ESMTP',
      'c EHLO relay.test',
      's 250 mx.test PIPELINING SIZE 8BITMIME SMTPUTF8 DSN ENHANCEDSTATUSCODES',
      'c MAIL FROM:<bounce@sender.test> SIZE=22 RET=HDRS ENVID=em_test',
      'c RCPT TO:<user@example.com> NOTIFY=FAILURE',
      'c DATA',
      's 250 2.1.0 Ok',
      's 250 2.1.5 Ok',
      's 354 Go ahead',
      'c (22 bytes)',
      's 250 2.0.0 Ok: queued',
    ])
  })

  it('goes to a host that offers nothing, too', async () => {
    const mx = await testMx({ on: { ehlo: (command) => (command.startsWith('EHLO') ? '502 5.5.1 what' : undefined) } })
    expect(told(await testDelivery([mx]).attempt())).toBe('delivered')
    expect(mx.messages[0]).toMatchObject({ mailParams: '', rcptParams: [''] })
    expect(mx.sessions[0]?.commands).toEqual(['EHLO relay.test', 'HELO relay.test', expect.any(String), expect.any(String), 'DATA'])
  })

  it('gets what is added: a trace above the signatures, fields below them, and what differs by recipient to that one only', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx])
    delivery.services.signer.addKey('dk_1', generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }))
    const signingKeys = [{ id: 'dk_1', signingDomain: 'sender.test', selector: 'sel', algorithm: 'ed25519-sha256' as const }]
    const recipient = (name: string, fields: AddedField[]) => ({
      id: name,
      forwardPath: `${name}@example.com`,
      reversePath: '',
      traceFields: `X-Sterna-Ref: ${name}\r\n`,
      fields,
    })
    const list = (name: string): AddedField => ({
      text: `List-Unsubscribe: <https://relay.test/${name}>\r\n`,
      unless: ['list-unsubscribe'],
    })
    const fields = [
      { text: 'Feedback-ID: x\r\n', unless: ['feedback-id'] },
      { text: 'X-Own: no\r\n', unless: ['subject'] },
    ]
    const recipients = [recipient('ann', []), recipient('bob', []), recipient('eve', [list('eve')])]
    await delivery.deliver(jobOf({ recipients, fields, signingKeys }))
    const headers = mx.messages.map(
      ({ data }) =>
        data
          .toString()
          .split('\r\n\r\n')[0]
          ?.replace(/\r\n\s+/g, '') ?? '',
    )
    const names = headers.map((header) => header.split('\r\n').map((line) => line.slice(0, line.indexOf(':'))))
    const usual = ['X-Sterna-Ref', 'DKIM-Signature', 'Feedback-ID', 'Subject']
    expect(names).toEqual([usual, usual, ['X-Sterna-Ref', 'DKIM-Signature', 'List-Unsubscribe', 'Feedback-ID', 'Subject']])
    expect(headers.map((header) => /^X-Sterna-Ref: (\w+)/.exec(header)?.[1])).toEqual(['ann', 'bob', 'eve'])
    // Those whose message is the same share its signature.
    const signatures = headers.map((header) => /b=([^;]+)$/m.exec(header)?.[1])
    expect(signatures[0]).toBe(signatures[1])
    expect(signatures[2]).not.toBe(signatures[0])
  })

  it('may come from the null reverse-path', async () => {
    const mx = await testMx()
    const recipients = [{ id: 'rcp_1', forwardPath: 'user@example.com', reversePath: '', traceFields: '', fields: [] }]
    await testDelivery([mx]).attempt(jobOf({ recipients }))
    expect(mx.messages[0]?.mailFrom).toBe('')
    expect(mx.sessions[0]?.commands[1]).toMatch(/^MAIL FROM:<> /)
  })

  it('may be large: it is written as fast as it is taken', async () => {
    const mx = await testMx()
    const text = `Subject: big\r\n\r\n${`.${'x'.repeat(70)}\r\n`.repeat(100_000)}`
    expect(told(await testDelivery([mx]).attempt(jobOf({ text })))).toBe('delivered')
    expect(mx.messages[0]?.data.equals(Buffer.from(text))).toBe(true)
  })

  it('bears the signatures of all keys, and is not sent without them', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx])
    const der = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' })
    delivery.services.signer.addKey('dk_1', der)
    const key = { id: 'dk_1', signingDomain: 'sender.test', selector: 'sel', algorithm: 'ed25519-sha256' as const }
    const at = Date.UTC(2030, 0, 1)
    const job = jobOf({ signingKeys: [key], at })
    expect(await delivery.attempt(job)).toMatchObject({ outcome: { type: 'delivered' }, selectors: ['sel'] })
    expect(mx.messages[0]?.data.toString()).toMatch(/^DKIM-Signature:[^]*\r\nSubject: hi\r\n\r\nHello\r\n$/)
    // By the time of the job, which is the database's, not the machine's.
    expect(mx.messages[0]?.data.toString()).toContain(`t=${at / 1000};`)

    const unknown = await delivery.attempt(jobOf({ signingKeys: [{ ...key, id: 'dk_2' }] }))
    expect(told(unknown)).toBe('deferred internal_error')
    expect(mx.messages).toHaveLength(1)
  })
})

describe('recipients of one job', () => {
  it('get a transaction each, one after the other on one connection', async () => {
    const mx = await testMx({ on: { rcpt: (address) => (address.startsWith('bad') ? '550 5.1.1 no such user' : undefined) } })
    const results = await testDelivery([mx]).deliver(jobOf({ to: ['a@example.com', 'bad@example.com', 'later@example.com'] }))
    expect(results.map((result) => told(result as Attempt))).toEqual(['delivered', 'bounced hard invalid_recipient', 'delivered'])
    expect(mx.messages.map(({ rcptTo }) => rcptTo)).toEqual([['a@example.com'], ['later@example.com']])
    expect(mx.sessions).toHaveLength(1)
    // A refused transaction is reset before the next.
    expect(mx.sessions[0]?.commands.filter((command) => command === 'RSET')).toHaveLength(1)
  })

  it.each([
    ['with pipelining', undefined],
    ['without', ['8BITMIME']],
  ])('are settled once each, mixed as they are, %s', async (_, extensions) => {
    const on: MxHooks = {
      rcpt: (address) => (address.startsWith('no') ? '550 5.1.1 no' : address.startsWith('wait') ? '450 4.2.1 wait' : undefined),
      dot: ({ rcptTo }) => (rcptTo[0]?.startsWith('spam') ? '554 5.7.1 spam' : undefined),
    }
    const mx = await testMx({ on, ...(extensions && { extensions }) })
    const results = await testDelivery([mx]).deliver(
      jobOf({ to: ['no@example.com', 'wait@example.com', 'spam@example.com', 'yes@example.com'] }),
    )
    expect(results.map((result) => told(result as Attempt))).toEqual([
      'bounced hard invalid_recipient',
      'deferred invalid_recipient',
      'bounced soft policy',
      'delivered',
    ])
    expect(results.map(({ recipientId }) => recipientId)).toEqual(['rcp_1', 'rcp_2', 'rcp_3', 'rcp_4'])
    expect(mx.messages).toHaveLength(1)
    expect(mx.sessions).toHaveLength(1)
  })
})

describe('what a host may do at each phase', () => {
  const both = ['PIPELINING', 'none'] as const
  const long = {
    line: `raw:220-${'x'.repeat(10_000_000)}`,
    reply: `raw:${'250-x\r\n'.repeat(1_000_000)}`,
    lines: `raw:${'250-x\r\n'.repeat(600)}250 end\r\n`,
  }
  const phases: [keyof MxHooks, MxAction | keyof typeof long, string][] = [
    ['banner', '554 5.7.1 go away', 'deferred policy'],
    ['banner', '421 4.3.2 busy', 'deferred other'],
    ['banner', 'close', 'deferred other'],
    ['banner', 'reset', 'deferred other'],
    ['banner', 'raw:HTTP/1.1 400 Bad Request\r\n\r\n', 'deferred other'],
    ['banner', 'raw:220 early\r\n250 too early\r\n', 'deferred other'],
    ['banner', 'line', 'deferred other'],
    ['ehlo', '421 4.3.2 busy', 'deferred other'],
    ['ehlo', '550 5.7.1 bad name', 'deferred policy'],
    ['ehlo', 'close', 'deferred other'],
    ['ehlo', 'reply', 'deferred other'],
    ['mail', '421 4.7.0 slow down', 'deferred policy'],
    ['mail', '550 5.7.1 sender blocked', 'bounced soft policy'],
    ['mail', '451 4.7.1 greylisted', 'deferred policy'],
    ['mail', 'close', 'deferred other'],
    ['mail', 'reset', 'deferred other'],
    ['rcpt', '421 4.7.0 slow down', 'deferred policy'],
    ['rcpt', '550 5.1.1 unknown', 'bounced hard invalid_recipient'],
    ['rcpt', '450 4.2.0 greylisted', 'deferred policy'],
    ['rcpt', 'close', 'deferred other'],
    ['rcpt', 'raw:250\0\x01\x02\r\n', 'delivered'],
    ['rcpt', 'raw:250-first\r\n550 5.1.1 unknown\r\n', 'bounced hard invalid_recipient'],
    ['rcpt', `550 5.1.1 ${'x'.repeat(5000)}`, 'bounced hard invalid_recipient'],
    ['rcpt', 'raw:nonsense\r\n', 'deferred other'],
    ['data', 'raw:nonsense\r\n554 no\r\n', 'bounced soft policy'],
    ['banner', 'raw:Welcome\r\n220 mx\r\n', 'delivered'],
    ['data', '421 4.7.0 closing', 'deferred policy'],
    ['data', '554 5.7.1 no', 'bounced soft policy'],
    ['data', '451 4.3.0 error', 'deferred other'],
    ['data', '250 what', 'deferred other'],
    ['data', 'close', 'deferred other'],
    ['content', 'reset', 'deferred other'],
    ['content', 'close', 'deferred other'],
    ['dot', '421 4.7.0 closing', 'deferred policy'],
    ['dot', '554 5.7.1 spam', 'bounced soft policy'],
    ['dot', '451 4.7.1 later', 'deferred policy'],
    ['dot', '354 again', 'deferred other'],
    ['dot', '600 what', 'deferred other'],
    ['dot', 'raw:taken\r\n', 'deferred other'],
    ['dot', 'reply', 'deferred other'],
    ['dot', 'raw: 250 taken\r\n', 'delivered'],
    ['dot', 'raw:\r\n250 taken\r\n', 'delivered'],
    ['dot', 'raw:taken\r\n250 taken\r\n', 'delivered'],
    ['dot', 'raw:354 go on\r\n250 taken\r\n', 'delivered'],
    ['dot', '250OK', 'delivered'],
    ['dot', '250:', 'delivered'],
    ['dot', '250\ttaken', 'delivered'],
    ['dot', 'raw:250-first\r\n251 last\r\n', 'delivered'],
    ['dot', 'raw:250-first\r\n550 5.7.1 no\r\n', 'bounced soft policy'],
    ['dot', 'lines', 'delivered'],
    ['dot', 'close', 'deferred other'],
    ['dot', 'reset', 'deferred other'],
    ['dot', { reply: '250 2.0.0 taken', end: 'reset' }, 'delivered'],
    ['rcpt', { slowly: '250 2.1.5 Ok', everyMs: 1 }, 'delivered'],
    ['ehlo', 'raw:250-mx\n250 SIZE\n', 'delivered'],
  ]

  it.each(phases.flatMap((row) => both.map((mode) => [...row, mode] as const)))(
    '%s: %j → %s (%s)',
    async (phase, action, expected, mode) => {
      const done = action === 'line' || action === 'reply' || action === 'lines' ? long[action] : action
      const mx = await testMx({ extensions: mode === 'none' ? ['DSN'] : ['PIPELINING', 'DSN'], on: { [phase]: () => done } })
      const results = await testDelivery([mx], { timeouts: { afterthought: 40 } }).deliver()
      expect(results.map((result) => told(result as Attempt))).toEqual([expected])
      if (phase !== 'dot') expect(mx.messages).toHaveLength(expected === 'delivered' ? 1 : 0)
    },
  )

  it.each<[keyof MxHooks, string]>([
    ['banner', 'banner'],
    ['ehlo', 'command'],
    ['mail', 'mail'],
    ['rcpt', 'rcpt'],
    ['data', 'data'],
    ['dot', 'dot'],
  ])('silence at %s ends after its time', async (phase, timeout) => {
    const mx = await testMx({ extensions: [], on: { [phase]: () => 'hang' } })
    const attempt = await testDelivery([mx], { timeouts: { [timeout]: 40 } }).attempt()
    expect(told(attempt)).toBe('deferred timeout')
    expect((attempt.outcome as { reason: string }).reason).toMatch(/time-out/)
  })

  it.each<[MxAction, boolean | undefined, number?]>([
    // What was sent must have come by then.
    ['raw:250-first\r\n', true, 2_000],
    ['raw:\r\n', undefined, 100],
    ['354 go on', true],
    [{ reply: 'taken', end: 'close' }, true],
    [{ reply: '250-first', end: 'close' }, true],
    [{ reply: '', end: 'reset' }, undefined],
  ])('%j to the message is an answer that is none, unless it is silence: %s', async (action, isUnclear, dot = 60_000) => {
    const mx = await testMx({ on: { dot: () => action } })
    const { outcome } = await testDelivery([mx], { timeouts: { dot, afterthought: 40 } }).attempt()
    expect(outcome).toMatchObject({ type: 'deferred', reply: null })
    expect([(outcome as Deferred).isUnclear, (outcome as Deferred).reason.startsWith('4.5.0 ')]).toEqual([isUnclear, isUnclear === true])
  })

  it('a host that answers the message with ever more that decides nothing is not heard for long', async () => {
    const mx = await testMx({ on: { dot: () => ({ endlessly: '354 go on\r\n'.repeat(1_000) }) } })
    const { outcome } = await testDelivery([mx], { timeouts: { afterthought: 3_600_000, dot: 3_600_000 } }).attempt()
    expect(outcome).toMatchObject({ type: 'deferred', isUnclear: true })
  })

  it('an answer to the message counts without the end of its line', async () => {
    const mx = await testMx({ on: { dot: () => 'raw:250 taken' } })
    expect(told(await testDelivery([mx], { timeouts: { dot: 100 } }).attempt())).toBe('delivered')
  })

  it('a host that sends a byte now and then does not stretch the time', async () => {
    const mx = await testMx({ on: { banner: () => ({ slowly: `220 ${'x'.repeat(1000)}`, everyMs: 10 }) } })
    expect(told(await testDelivery([mx], { timeouts: { banner: 60 } }).attempt())).toBe('deferred timeout')
  })

  it('no attempt takes longer than its own time, whatever each step may take', async () => {
    const mx = await testMx({ on: { rcpt: () => 'hang' } })
    expect(told(await testDelivery([mx], { timeouts: { attempt: 60 } }).attempt())).toBe('deferred timeout')
  })

  it('a host that stops taking the data is given up', async () => {
    const mx = await testMx({ on: { content: () => 'hang' } })
    const delivery = testDelivery([mx], { timeouts: { block: 50, dot: 80 } })
    expect(told(await delivery.attempt(jobOf({ text: `A: b\r\n\r\n${'x\r\n'.repeat(5_000_000)}` })))).toBe('deferred timeout')
  })

  it('a refusal before the end of the data counts, an acceptance does not', async () => {
    const text = `A: b\r\n\r\n${'x\r\n'.repeat(5_000_000)}`
    const early = await testMx({ on: { content: () => ({ reply: '552 5.3.4 too big', end: 'close' }) } })
    expect(['bounced soft content_rejected', 'deferred other']).toContain(told(await testDelivery([early]).attempt(jobOf({ text }))))
    const liar = await testMx({
      on: { content: (_, session) => (session.number === 1 ? { reply: '250 2.0.0 have it', end: 'close' } : undefined) },
    })
    expect(told(await testDelivery([liar]).attempt(jobOf({ text })))).toBe('deferred other')
  })

  it('data asked for although the recipient was refused is ended empty, and the connection goes on', async () => {
    const on: MxHooks = {
      rcpt: (address) => (address.startsWith('no') ? '550 5.1.1 no' : undefined),
      data: () => '354 go ahead all the same',
      dot: ({ rcptTo }) => (rcptTo.length === 0 ? '554 5.5.1 no recipients' : undefined),
    }
    const mx = await testMx({ on })
    const results = await testDelivery([mx]).deliver(jobOf({ to: ['no@example.com', 'yes@example.com'] }))
    expect(results.map((result) => told(result as Attempt))).toEqual(['bounced hard invalid_recipient', 'delivered'])
    expect(mx.messages.map(({ rcptTo }) => rcptTo)).toEqual([['yes@example.com']])
    expect(mx.sessions).toHaveLength(1)
  })
})

describe('one message too many for a connection', () => {
  const refusals: [keyof MxHooks, string][] = [
    ['mail', '503 5.5.1 Sender already specified'],
    ['mail', '500 5.5.1 Unrecognised command'],
    ['mail', '421 4.7.0 one message only'],
    ['rcpt', '503 5.5.1 Bad sequence of commands'],
    ['rcpt', '421 4.7.0 one recipient only'],
    ['data', '554 5.5.0 one message only'],
    ['data', '421 4.7.0 one message only'],
    ['rset', '503 5.5.1 Bad sequence of commands'],
    ['rset', '550 no'],
    ['rset', 'close'],
  ]
  const both = ['PIPELINING', 'none'] as const

  it.each(refusals.flatMap((row) => both.map((mode) => [...row, mode] as const)))(
    'goes over a new one at once: %s %s (%s)',
    async (phase, reply, mode) => {
      // RSET is sent only after a refused recipient.
      const isSecond = ({ commands }: MxSession): boolean => commands.filter((command) => command.startsWith('MAIL')).length > 1
      const on: MxHooks =
        phase === 'rset'
          ? { rset: () => reply, rcpt: (address) => (address.startsWith('no') ? '550 5.1.1 no' : undefined) }
          : { [phase]: (...args: unknown[]) => (isSecond(args.at(-1) as MxSession) ? reply : undefined) }
      const mx = await testMx({ on, extensions: mode === 'none' ? [] : ['PIPELINING'] })
      const [first, ...others] = await testDelivery([mx]).deliver(
        jobOf({ to: ['no@example.com', 'b@example.com', 'c@example.com', 'd@example.com'] }),
      )
      expect(told(first as Attempt)).toBe(phase === 'rset' ? 'bounced hard invalid_recipient' : 'delivered')
      expect(others.map((result) => told(result as Attempt))).toEqual(['delivered', 'delivered', 'delivered'])
    },
  )

  it('is deferred, and the others too, if a new connection takes none either', async () => {
    const mx = await testMx({ on: { mail: (_, __, { number }) => (number > 1 ? '503 bad sequence of commands' : undefined) } })
    const delivery = testDelivery([mx], { limits: { messagesPerConnection: 1 } })
    const results = await delivery.deliver(jobOf({ to: ['a@example.com', 'b@example.com', 'c@example.com'] }))
    expect(results.map((result) => told(result as Attempt))).toEqual(['delivered', 'deferred other', 'deferred other'])
    expect(mx.sessions).toHaveLength(3)
  })
})

describe('several hosts', () => {
  const pair = async (first: MxHooks, second: MxHooks = {}) => {
    const one = await testMx({ on: first })
    const two = await testMx({ on: second, host: '127.0.0.2', port: one.port })
    return { one, two, delivery: testDelivery([one, two]) }
  }

  it.each<[keyof MxHooks, MxAction]>([
    ['banner', '521 never'],
    ['banner', 'close'],
    ['ehlo', '550 no'],
    ['mail', '421 busy'],
    ['mail', '451 later'],
    ['mail', '503 bad sequence of commands'],
    ['rcpt', '502 not implemented'],
    ['rcpt', '421 busy'],
    ['data', '421 busy'],
    ['rcpt', 'reset'],
    ['data', 'close'],
  ])('the next one gets it after %s: %j', async (phase, action) => {
    const { one, two, delivery } = await pair({ [phase]: () => action })
    const attempt = await delivery.attempt()
    expect(told(attempt)).toBe('delivered')
    expect(attempt).toMatchObject({ mxHost: 'mx2.example.com', address: '127.0.0.2' })
    expect([one.messages.length, two.messages.length]).toEqual([0, 1])
  })

  it.each<[keyof MxHooks, MxAction, string]>([
    ['mail', '550 5.7.1 blocked', 'bounced soft policy'],
    ['rcpt', '550 5.1.1 no', 'bounced hard invalid_recipient'],
    ['rcpt', '450 4.2.0 later', 'deferred other'],
    ['dot', 'close', 'deferred other'],
    ['dot', '421 closing', 'deferred other'],
    ['content', 'reset', 'deferred other'],
  ])('no other is asked after %s: %j', async (phase, action, expected) => {
    const { two, delivery } = await pair({ [phase]: () => action })
    expect(told(await delivery.attempt())).toBe(expected)
    expect(two.sessions).toHaveLength(0)
  })

  it('the first may be down, and is tried last by the next job', async () => {
    const { one, two, delivery } = await pair({})
    await one.close()
    expect(told(await delivery.attempt())).toBe('delivered')
    const again = await delivery.attempt()
    expect(told(again)).toBe('delivered')
    expect(linesOf(again).some(([, , line]) => line.includes('127.0.0.1'))).toBe(false)
    expect(two.messages).toHaveLength(2)
  })

  it('all may be down', async () => {
    const { one, two, delivery } = await pair({})
    await Promise.all([one.close(), two.close()])
    const attempt = await delivery.attempt(jobOf({ to: ['a@example.com'] }))
    expect(told(attempt)).toBe('deferred other')
    expect((attempt.outcome as { reason: string }).reason).toMatch(/ECONNREFUSED/)
  })

  it('all may take no mail, which is a bounce; one that refuses us or is only busy keeps the mail', async () => {
    expect(told(await (await pair({ ehlo: () => '554 no' }, { ehlo: () => '554 no' })).delivery.attempt())).toBe('deferred reputation')
    expect(told(await (await pair({ banner: () => '421 busy' }, { banner: () => '521 never' })).delivery.attempt())).toBe('deferred other')
    expect(told(await (await pair({ banner: () => '521 never' }, { banner: () => '521 never' })).delivery.attempt())).toBe(
      'bounced hard invalid_recipient',
    )
  })

  it('the attempt shows the host whose answer counts', async () => {
    const busy = async (first: MxHooks, second: MxHooks) => (await pair(first, second)).delivery.attempt()
    const last = await busy({ banner: () => '521 never' }, { mail: () => '451 4.3.2 later' })
    expect(last).toMatchObject({ mxHost: 'mx2.example.com', address: '127.0.0.2', transport: 'plain', outcome: { reply: { code: 451 } } })
    const first = await busy({ mail: () => '451 4.3.2 later' }, { banner: () => '521 never' })
    expect(first).toMatchObject({ mxHost: 'mx1.example.com', address: '127.0.0.1', transport: 'plain', outcome: { reply: { code: 451 } } })
    const { one, two, delivery } = await pair({ mail: () => '451 4.3.2 later' }, {})
    await two.close()
    expect(await delivery.attempt()).toMatchObject({ mxHost: 'mx2.example.com', transport: null, outcome: { reply: null } })
    expect(one.sessions).toHaveLength(1)
  })

  it('each recipient’s attempt shows the host whose answer counts', async () => {
    const { delivery } = await pair({ banner: () => '421 busy' }, { mail: () => '521 never' })
    const results = await delivery.deliver(jobOf({ to: ['a@example.com', 'b@example.com'] }))
    expect(results).toMatchObject([1, 2].map(() => ({ mxHost: 'mx1.example.com', outcome: { type: 'deferred', reply: { code: 421 } } })))
  })

  it('a greeting that refuses us rules out the owner’s other hosts, for every recipient', async () => {
    const { one, two, delivery } = await pair({ banner: () => '554 5.7.1 no' })
    const results = await delivery.deliver(jobOf({ to: ['a@example.com', 'b@example.com'] }))
    expect(results).toMatchObject([{ outcome: { type: 'deferred', reason: '554 5.7.1 no' } }, { outcome: { type: 'deferred' } }])
    expect([one.sessions.length, two.sessions.length]).toEqual([1, 0])
  })

  const lacksSmtputf8 = { extensions: [] }

  it('mail that the first refuses for good waits while there is no connection to be had to the other', async () => {
    const one = await testMx(lacksSmtputf8)
    const two = await testMx({ host: '127.0.0.2', port: one.port })
    const delivery = testDelivery([one, two], { limits: { maxConnectionsPerHost: 1, waitMs: 50 } })
    const other = await delivery.services.pool.acquire({ name: 'mx2.example.com', address: two.host, port: two.port }, plain)
    expect(told(await delivery.attempt(jobOf({ smtputf8: true })))).toBe('deferred other')
    other?.release(null)
    expect(await delivery.attempt(jobOf({ smtputf8: true }))).toMatchObject({ outcome: { type: 'delivered' }, address: two.host })
  })

  it('mail that the first refuses for good waits while the machine lacks the address that it would go to the other from', async () => {
    const one = await testMx(lacksSmtputf8)
    const two = await testMx({ host: '::1', port: one.port })
    const delivery = testDelivery([one, two], {
      sources: [{ address: '2001:db8::77', ehloName: null }],
      resolver: fakeResolver({
        'example.com': {
          mx: [
            [0, 'mx1.example.com'],
            [1, 'mx2.example.com'],
          ],
        },
        'mx1.example.com': { a: [one.host] },
        'mx2.example.com': { aaaa: [two.host] },
      }),
    })
    expect(told(await delivery.attempt(jobOf({ smtputf8: true })))).toBe('deferred other')
    expect(two.sessions).toHaveLength(0)
  })

  it('mail that as many addresses as one attempt tries refuse for good waits for those not asked', async () => {
    const everywhere = await testMx({ host: '0.0.0.0', on: { banner: () => '521 never' } })
    const names = [1, 2, 3].map((n) => `mx${n}.example.com`)
    const eightOf = (n: number): string[] => [1, 2, 3, 4, 5, 6, 7, 8].map((i) => `127.0.${n}.${i}`)
    const resolver = fakeResolver({
      'example.com': { mx: names.map((name, i) => [i, name]) },
      ...Object.fromEntries(names.map((name, i) => [name, { a: eightOf(i + 3) }])),
    })
    const attempt = await testDelivery([everywhere], { resolver }).attempt()
    expect(everywhere.sessions).toHaveLength(20)
    expect([told(attempt), (attempt.outcome as Deferred).reason]).toEqual(['deferred other', 'mx3.example.com has not been tried yet'])
  })

  it('a host that failed is not tried again for every recipient of a job', async () => {
    const { one, two, delivery } = await pair({ banner: () => '421 busy' })
    const results = await delivery.deliver(jobOf({ to: ['a@example.com', 'b@example.com', 'c@example.com'] }))
    expect(results.map((result) => told(result as Attempt))).toEqual(['delivered', 'delivered', 'delivered'])
    expect([one.sessions.length, two.sessions.length]).toEqual([1, 1])
  })
})

describe('a host with several addresses', () => {
  const at = (last: number): string => `127.0.10.${last}`
  const upTo = (last: number): string[] => Array.from({ length: last }, (_, i) => at(i + 1))
  const resolving = (addresses: string[]) =>
    fakeResolver({ 'example.com': { mx: [[0, 'mx1.example.com']] }, 'mx1.example.com': { a: addresses } })

  it('is reached by the second attempt, though only the last of forty answers', async () => {
    const mx = await testMx({ host: at(40) })
    const delivery = testDelivery([mx], { resolver: resolving(upTo(40)) })
    const first = await delivery.attempt()
    expect([told(first), linesOf(first).length]).toEqual(['deferred other', 20])
    expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, address: at(40) })
  })

  it('is reached by the second attempt, though only the last of forty MX hosts answers', async () => {
    const mx = await testMx({ host: at(40) })
    const hosts = upTo(40).map((host) => ({ host, port: mx.port }))
    const delivery = testDelivery(hosts)
    expect(told(await delivery.attempt())).toBe('deferred other')
    expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, mxHost: 'mx40.example.com' })
  })

  it('of which one hangs gets its mail at the next meanwhile, and then without waiting', async () => {
    const mx = await testMx({ host: at(2) })
    await hungAddresses([at(1)], mx.port)
    const used: number[] = []
    const limits = { messagesPerConnection: 1, noteUsed: (connections: number) => void used.push(connections) }
    const delivery = testDelivery([mx], { resolver: resolving(upTo(2)), limits, timeouts: { headStart: 20 } })
    const first = await delivery.attempt()
    expect(first).toMatchObject({ outcome: { type: 'delivered' }, address: at(2) })
    expect(linesOf(first).map(([, , line]) => line)).toContain(`(mx1.example.com ${at(1)}:${mx.port}: another address was faster)`)
    expect(used).toEqual([1, 2, 1, 0])
    const second = await delivery.attempt()
    expect(second).toMatchObject({ outcome: { type: 'delivered' }, address: at(2) })
    expect(second.transcript).not.toContain(at(1))
  })

  it('of which six hang holds four connections at a time, each for its time', async () => {
    const mx = await testMx({ host: at(7) })
    await hungAddresses(upTo(6), mx.port)
    let most = 0
    const limits = { noteUsed: (connections: number) => void (most = Math.max(most, connections)) }
    const delivery = testDelivery([mx], { resolver: resolving(upTo(7)), limits, timeouts: { headStart: 1, connect: 2_000 } })
    expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, address: at(7) })
    expect(most).toBe(4)
  })

  it('over IPv6 alone, which this machine may lack, keeps the mail', async () => {
    const resolver = fakeResolver({ 'example.com': { aaaa: ['fe80::1'] } })
    const delivery = testDelivery([{ host: '127.0.0.1', port: 9 }], { resolver, timeouts: { connect: 50 } })
    expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'deferred' }, address: 'fe80::1' })
  })
})

describe('a host that refuses mail over IPv6', () => {
  /** IPv4 first, which is down, then IPv6, then IPv4. */
  async function withIpv6(on: MxHooks, ipv4 = ['127.0.10.1', '127.0.10.2']) {
    const six = await testMx({ host: '::1', on })
    const four = await testMx({ host: '127.0.10.2', port: six.port })
    const resolver = fakeResolver({ 'example.com': { mx: [[0, 'mx1.example.com']] }, 'mx1.example.com': { a: ipv4, aaaa: ['::1'] } })
    return { six, four, delivery: testDelivery([six], { resolver, limits: { messagesPerConnection: 1 } }) }
  }

  it.each<[keyof MxHooks, string]>([
    ['banner', '554 5.7.25 no reverse DNS'],
    ['mail', '421 4.7.26 [::1] is not authenticated'],
    ['rcpt', '550 5.7.510 example.com does not accept email over IPv6'],
    ['rcpt', '450 4.7.25 no PTR record'],
    ['dot', '550 5.7.25 no PTR record'],
    ['dot', '550 5.7.1 This message does not meet IPv6 sending guidelines regarding PTR records and authentication'],
  ])('by policy at %s gets it over IPv4 at once, and from then on: %s', async (phase, reply) => {
    const { six, four, delivery } = await withIpv6({ [phase]: () => reply })
    const first = await delivery.attempt()
    expect(first).toMatchObject({ outcome: { type: 'delivered' }, address: '127.0.10.2' })
    expect(linesOf(first).map(([, , line]) => line)).toContain('(IPv6 comes last at mx1.example.com from now on)')
    expect(told(await delivery.attempt())).toBe('delivered')
    expect([six.sessions.length, four.messages.length]).toEqual([1, 2])
  })

  const jobFrom = (reversePath: string) => jobOf({ recipients: jobOf().recipients.map((recipient) => ({ ...recipient, reversePath })) })

  it.each(['450 4.7.26 not authenticated', '550 5.7.25 not authenticated'])(
    'but cannot be reached over IPv4 keeps the mail, and gets that of others: %s',
    async (reply) => {
      const { six, four, delivery } = await withIpv6({ mail: (address) => (address === '' ? reply : undefined) })
      await four.close()
      // Longer than it takes to put the IPv4 addresses into backoff.
      for (let tried = 0; tried < 6; tried++) {
        const refused = await delivery.attempt(jobFrom(''))
        expect([refused.outcome.type, (refused.outcome as Deferred).reason]).toEqual(['deferred', reply])
        expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' }, address: '::1' })
      }
      expect(six.messages).toHaveLength(6)
    },
  )

  it('counts once it has not answered over IPv4 for four hours, until it does', async () => {
    const { six, four, delivery } = await withIpv6({ rcpt: () => '550 5.7.25 no PTR record' })
    const at = Date.now()
    const after = async (minutes: number) => told(await delivery.attempt(jobOf({ at: at + minutes * 60_000 })))
    await four.close()
    expect([await after(0), await after(239), await after(240), await after(241)]).toEqual([
      'deferred policy',
      'deferred policy',
      'bounced soft policy',
      'bounced soft policy',
    ])
    const again = await testMx({ host: '127.0.10.2', port: six.port })
    delivery.services.health.forget(`127.0.10.2 ${six.port}`)
    expect(await after(242)).toBe('delivered')
    await again.close()
    expect(await after(500)).toBe('deferred policy')
  })

  it('but hangs over IPv4 gets the mail of others over IPv6 only once IPv4 has had its time', async () => {
    const { six, delivery } = await withIpv6({ mail: (address) => (address === '' ? '450 4.7.26 not authenticated' : undefined) }, [
      '127.0.10.1',
    ])
    await hungAddresses(['127.0.10.1'], six.port)
    Object.assign(delivery.services.connection.timeouts, { headStart: 20, connect: 2_000 })
    expect(await delivery.attempt(jobFrom(''))).toMatchObject({ outcome: { type: 'deferred', reply: { code: 450 } } })
    const attempt = await delivery.attempt()
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, address: '::1' })
    expect(attempt.transcript).not.toContain('another address was faster')
  })

  it.each<[string, string[], MxHooks, string]>([
    ['for another reason', ['127.0.10.1', '127.0.10.2'], { rcpt: () => '550 5.7.1 no' }, 'bounced soft policy'],
    ['and has no IPv4', [], { rcpt: () => '550 5.7.25 no PTR record' }, 'bounced soft policy'],
  ])('%s has refused the mail', async (_, ipv4, on, expected) => {
    const { six, four, delivery } = await withIpv6(on, ipv4)
    expect(told(await delivery.attempt())).toBe(expected)
    expect([six.sessions.length, four.sessions.length]).toEqual([1, 0])
  })
})

describe('mail from addresses of its own', () => {
  const sources = [
    { address: '127.0.10.11', ehloName: 'mail1.relay.test' },
    { address: '127.0.10.12', ehloName: null },
    { address: '::1', ehloName: 'mail6.relay.test' },
  ]
  const from = (sender: string) => ({ signingKeys: [], recipients: [recipientFrom(sender)] })
  const recipientFrom = (sender: string) => ({
    id: 'rcp_1',
    forwardPath: 'user@example.com',
    reversePath: `bounce@${sender}`,
    traceFields: '',
    fields: [],
  })
  const senders = ['a.test', 'b.test', 'c.test', 'd.test', 'e.test', 'f.test']

  it('leaves from them with their names, over connections of their own, and always from the same', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx], { sources })
    const seen = new Map<string, string>()
    for (const sender of [...senders, ...senders]) {
      const { sourceAddress, outcome } = await delivery.attempt(jobOf(from(sender)))
      expect([outcome.type, seen.get(sender) ?? sourceAddress]).toEqual(['delivered', sourceAddress])
      seen.set(sender, String(sourceAddress))
    }
    expect(mx.sessions.map(({ remoteAddress, commands }) => `${remoteAddress} ${commands[0]}`).toSorted()).toEqual([
      '127.0.10.11 EHLO mail1.relay.test',
      '127.0.10.12 EHLO relay.test',
    ])
  })

  it('leaves from the one of the family of the host', async () => {
    const mx = await testMx({ host: '::1' })
    const resolver = fakeResolver({ 'example.com': { aaaa: ['::1'] } })
    const attempt = await testDelivery([mx], { sources, resolver }).attempt()
    expect(attempt).toMatchObject({ outcome: { type: 'delivered' }, sourceAddress: '::1' })
    expect(mx.sessions[0]?.commands[0]).toBe('EHLO mail6.relay.test')
    expect(linesOf(attempt)[0]?.[2]).toBe(`(example.com ::1:${mx.port} from ::1)`)
  })

  it.each([[['127.0.0.1']], [['127.0.0.1', '127.0.10.1']]])('leaves from another if the machine has lost one: %j', async (addresses) => {
    const mx = await testMx()
    const resolver = fakeResolver({ 'example.com': { a: addresses } })
    const lost = { address: '192.0.2.77', ehloName: null }
    const delivery = testDelivery([mx], { sources: [lost, { address: '127.0.10.12', ehloName: null }], resolver })
    const faults: string[] = []
    delivery.services.noteFault = (reason) => void faults.push(reason)
    const results = []
    for (const sender of senders) results.push(...(await delivery.deliver(jobOf(from(sender)))))
    const postponed = results.filter((result) => 'postponed' in result)
    expect(postponed).toHaveLength(1)
    expect(faults).toEqual(['this machine does not have 192.0.2.77 of delivery.source_addresses'])
    expect(mx.messages).toHaveLength(senders.length - 1)
    expect(delivery.services.health.failedAt(`127.0.0.1 ${mx.port}`)).toBe(-Infinity)
  })

  it('waits if the machine has lost them all', async () => {
    const mx = await testMx()
    const delivery = testDelivery([mx], { sources: [{ address: '192.0.2.77', ehloName: null }] })
    expect(await delivery.deliver()).toMatchObject([{ postponed: true }])
    expect(told(await delivery.attempt())).toBe('deferred other')
  })
})

describe('what is the fault of the host, not of the message', () => {
  it.each<[keyof MxHooks]>([['mail'], ['rcpt'], ['data']])('421 to %s, four times in a row, puts it into backoff', async (phase) => {
    const mx = await testMx({ on: { [phase]: () => '421 4.3.2 busy' } })
    const delivery = testDelivery([mx])
    for (let tried = 0; tried < 3; tried++) expect((await delivery.attempt()).backoff).toBeUndefined()
    expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'deferred' }, backoff: { reason: '421 4.3.2 busy' } })
    mx.on = {}
    expect(await delivery.deliver()).toMatchObject([{ postponed: true }])
    expect(await delivery.attempt(jobOf({ isProbe: true }))).toMatchObject({ outcome: { type: 'delivered' } })
    expect(await delivery.attempt()).toMatchObject({ outcome: { type: 'delivered' } })
  })

  it('mail that one host does not take waits for another that is in backoff', async () => {
    const lacking = await testMx({ extensions: [] })
    const down = await testMx({ host: '127.0.0.2', port: lacking.port, on: { banner: () => '421 busy' } })
    const delivery = testDelivery([lacking, down])
    const job = () => jobOf({ smtputf8: true })
    for (let tried = 0; tried < 6; tried++) expect(told(await delivery.attempt(job()))).toBe('deferred other')
    expect(down.sessions).toHaveLength(4)
  })
})

describe('a host that drops what was sent ahead of its replies', () => {
  /** Offers PIPELINING, and answers the first command of several that come together. `drop`: what it does then. */
  async function droppingHost(drop: (socket: Socket) => void, mustBeAlone = true) {
    const commands: string[] = []
    const server = createServer((socket) => {
      let isInData = false
      socket.on('error', () => {})
      socket.write('220 mx.test\r\n')
      socket.on('data', (chunk) => {
        const [first = '', ...others] = chunk.toString().trimEnd().split('\r\n')
        if (isInData) return (isInData = !chunk.toString().endsWith('\r\n.\r\n')) || void socket.write('250 taken\r\n')
        if (first === 'QUIT') return
        commands.push(first.slice(0, 4))
        if (!mustBeAlone && first.startsWith('RCPT')) return drop(socket)
        isInData = first === 'DATA'
        socket.write(first.startsWith('EHLO') ? '250-mx.test\r\n250 PIPELINING\r\n' : isInData ? '354 go on\r\n' : '250 fine\r\n')
        if (others.length > 0) drop(socket)
      })
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    return { commands, host: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } }
  }
  const alone = ['EHLO', 'MAIL', 'RCPT', 'DATA']

  it.each<[string, (socket: Socket) => void]>([
    ['closes the connection', (socket) => void socket.end()],
    ['resets it', (socket) => void socket.resetAndDestroy()],
    ['is silent', () => {}],
  ])('and %s gets one command at a time, at once and from then on', async (_, drop) => {
    const { commands, host } = await droppingHost(drop)
    const delivery = testDelivery([host], { timeouts: { rcpt: 2_000 }, limits: { messagesPerConnection: 1 } })
    expect(told(await delivery.attempt())).toBe('delivered')
    expect(commands).toEqual(['EHLO', 'MAIL', ...alone])
    expect(told(await delivery.attempt())).toBe('delivered')
    expect(commands).toEqual(['EHLO', 'MAIL', ...alone, ...alone])
  })

  it.each<[keyof MxHooks, string, string]>([
    ['mail', '421 4.3.2 busy', 'deferred other'],
    ['mail', '550 5.7.1 blocked', 'bounced soft policy'],
    ['rcpt', '550 5.1.1 no such user', 'bounced hard invalid_recipient'],
    ['rcpt', '450 4.2.0 later', 'deferred other'],
  ])('is not one that answers %s with %s and hangs up: that answer counts, and nothing is asked again', async (phase, reply, expected) => {
    const mx = await testMx({ on: { [phase]: () => ({ reply, end: 'close' }) } })
    const delivery = testDelivery([mx])
    expect(told(await delivery.attempt())).toBe(expected)
    expect(mx.sessions).toHaveLength(1)
    mx.on = {}
    expect(told(await delivery.attempt())).toBe('delivered')
    // It still gets all commands at once.
    expect(
      linesOf(await delivery.attempt())
        .map(([, side]) => side)
        .join(''),
    ).toContain('ccc')
  })

  it('and does so in any case is not asked twice again', async () => {
    const { commands, host } = await droppingHost((socket) => void socket.end(), false)
    const delivery = testDelivery([host])
    for (let tried = 0; tried < 2; tried++) expect(told(await delivery.attempt())).toBe('deferred other')
    expect(commands).toEqual(['EHLO', 'MAIL', 'EHLO', 'MAIL', 'RCPT', 'EHLO', 'MAIL'])
  })
})

describe('as many messages as a host allows on one connection (RFC 9422)', () => {
  it.each<[string, number]>([
    ['LIMITS MAILMAX=2 RCPTMAX=1 RCPTDOMAINMAX=1', 3],
    ['LIMITS RCPTMAX=7 MAILMAX=4', 2],
    ['limits mailmax=5', 1],
    ['LIMITS MAILMAX=0', 1],
    ['LIMITS MAILMAX=02', 1],
    ['LIMITS MAILMAX=two', 1],
    ['LIMITS MAILMAX RCPTMAX=2', 1],
    ['LIMITS', 1],
  ])('%s: five messages take %d', async (extension, connections) => {
    const mx = await testMx({ extensions: [extension] })
    const to = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@example.com`)
    expect((await testDelivery([mx]).deliver(jobOf({ to }))).map((result) => told(result as Attempt))).toEqual(to.map(() => 'delivered'))
    expect(mx.sessions).toHaveLength(connections)
  })
})

describe('content on request', () => {
  /** A delivery that finds this content when it asks, and what it asked. */
  function requesting(hosts: FakeMx | FakeMx[], content: ContentAnswer) {
    const [mx] = [hosts].flat() as [FakeMx]
    const delivery = testDelivery([hosts].flat())
    const asked: string[] = []
    const contents = new ContentRequests((type, jobId) => {
      asked.push(`${type} after ${mx.sessions.at(-1)?.commands.at(-1)}`)
      if (type === 'content wanted') contents.answer(jobId, content)
    })
    delivery.services.contents = contents
    return { delivery, asked }
  }
  const text = 'Subject: hi\r\n\r\nHello\r\n'
  const job = () => jobOf({ content: 'on request', size: text.length })

  it('is asked for when the host is ready for it, and given back when it has left', async () => {
    const mx = await testMx({ on: { dot: () => 'hang' } })
    const { delivery, asked } = requesting(mx, contentOf(text))
    void delivery.deliver(job())
    await expect.poll(() => asked).toEqual(['content wanted after DATA', 'content left after DATA'])
    expect(Number(/SIZE=(\d+)/.exec(mx.sessions[0]?.commands.join() ?? '')?.[1])).toBeGreaterThan(text.length)
  })

  it('is not asked for by a host that refuses the recipient or hangs', async () => {
    const mx = await testMx({ on: { rcpt: () => '550 5.1.1 No such user' } })
    const { delivery, asked } = requesting(mx, contentOf(text))
    expect(await delivery.attempt(job())).toMatchObject({ outcome: { type: 'bounced' } })
    expect(asked).toEqual([])
  })

  it('that there is no room for puts the message back, and one that cannot be read keeps it', async () => {
    const mx = await testMx()
    expect(await requesting(mx, null).delivery.deliver(job())).toEqual([{ recipientId: 'rcp_1', postponed: true }])
    expect(await requesting(mx, 'the disk is gone').delivery.attempt(job())).toMatchObject({
      outcome: { type: 'deferred', category: 'internal_error', reason: expect.stringContaining('the disk is gone') },
    })
    expect(mx.messages).toEqual([])
  })

  it('goes to a host whose limit it fits in, however little is left', async () => {
    const mx = await testMx({ extensions: [`SIZE ${text.length + 1}`] })
    expect(await requesting(mx, contentOf(text)).delivery.attempt(job())).toMatchObject({ outcome: { type: 'delivered' } })
    expect(mx.messages[0]?.mailParams).toContain(`SIZE=${text.length + 1}`)
  })

  it('goes to another host where the first hangs up before any of it could leave', async () => {
    const one = await testMx({ on: { data: () => ({ reply: '354 go ahead', end: 'close' }) } })
    const two = await testMx({ host: '127.0.0.2', port: one.port })
    const delivery = testDelivery([one, two])
    const contents = new ContentRequests(async (type, jobId) => {
      if (type === 'content left') return
      // Both ends are closed once ours has seen that the other one is.
      await expect.poll(() => one.sessions.every(({ closed }) => closed)).toBe(true)
      contents.answer(jobId, contentOf(text))
    })
    delivery.services.contents = contents
    expect(await delivery.attempt(job())).toMatchObject({ outcome: { type: 'delivered' }, mxHost: 'mx2.example.com' })
    expect(two.messages).toHaveLength(1)
  })

  it('that one host does not accept goes to another host that does', async () => {
    const lacking = await testMx({ extensions: ['SIZE'] })
    const offering = await testMx({ host: '127.0.0.2', port: lacking.port })
    const signed = 'DKIM-Signature: v=1\r\nSubject: x\r\n\r\nGrüße an alle\r\n'
    const delivery = requesting([lacking, offering], contentOf(signed)).delivery
    expect(told(await delivery.attempt(jobOf({ content: 'on request', size: signed.length, bodyType: '8bitmime' })))).toBe('delivered')
    expect(offering.messages[0]?.data.toString()).toContain('Grüße')
  })
})

describe('what the host did not offer is not sent', () => {
  it('a size above its limit', async () => {
    const mx = await testMx({ extensions: ['SIZE 1000'] })
    expect(told(await testDelivery([mx]).attempt(jobOf({ text: `A: b\r\n\r\n${'x'.repeat(1000)}\r\n` })))).toBe(
      'bounced soft content_rejected',
    )
    expect(mx.sessions[0]?.commands).toEqual(['EHLO relay.test'])
    const unlimited = await testMx({ extensions: ['SIZE 0'] })
    expect(told(await testDelivery([unlimited]).attempt())).toBe('delivered')
  })

  it.each(['SIZE -1', 'SIZE 1e2', 'SIZE 0x10', 'SIZE many', `SIZE ${'9'.repeat(400)}`])(
    'no size where %s is offered as its limit',
    async (offered) => {
      const mx = await testMx({ extensions: [offered] })
      expect(told(await testDelivery([mx]).attempt())).toBe('delivered')
      expect(mx.messages[0]?.mailParams).toBe('SIZE=22')
    },
  )

  it('8-bit content', async () => {
    const text = 'Subject: x\r\n\r\nGrüße an alle, die es lesen\r\n'
    // Whoever signed it signed these bytes.
    const job = jobOf({ text: `DKIM-Signature: v=1\r\n${text}`, bodyType: '8bitmime' })
    const lacking = await testMx({ extensions: ['SIZE'] })
    expect(told(await testDelivery([lacking]).attempt(job))).toBe('bounced soft content_rejected')
    const offering = await testMx({ host: '127.0.0.2', port: lacking.port })
    // Another host may take it.
    expect(told(await testDelivery([lacking, offering]).attempt(job))).toBe('delivered')
    expect(offering.messages[0]?.mailParams).toContain('BODY=8BITMIME')
    expect(offering.messages[0]?.data.toString()).toContain('Grüße')
    expect(told(await testDelivery([lacking]).attempt(jobOf({ text, bodyType: '8bitmime' })))).toBe('delivered')
    expect(lacking.messages[0]?.data.toString()).toContain('Gr=C3=BC=C3=9Fe an alle, die es lesen')
  })

  it('internationalised addresses and headers', async () => {
    const lacking = await testMx({ extensions: ['8BITMIME'] })
    const offering = await testMx()
    for (const job of [jobOf({ to: ['jürgen@example.com'] }), jobOf({ smtputf8: true })]) {
      expect(told(await testDelivery([lacking]).attempt(job))).toBe('bounced soft content_rejected')
      expect(told(await testDelivery([offering]).attempt(job))).toBe('delivered')
    }
    expect(offering.messages.map(({ mailParams }) => mailParams.endsWith(' SMTPUTF8') || mailParams.includes(' SMTPUTF8 '))).toEqual([
      true,
      true,
    ])
    expect(offering.messages[0]?.rcptTo).toEqual(['jürgen@example.com'])
    expect(lacking.messages).toHaveLength(0)
  })

  it('at one address of a host is not offered at its others', async () => {
    const lacking = await testMx({ extensions: [] })
    const resolver = fakeResolver({ 'example.com': { mx: [[0, 'mx1.example.com']] }, 'mx1.example.com': { a: ['127.0.0.1', '127.0.0.3'] } })
    const delivery = testDelivery([lacking], { resolver })
    expect(told(await delivery.attempt(jobOf({ smtputf8: true })))).toBe('bounced soft content_rejected')
    const to = ['jürgen@example.com', 'jurgen@example.com']
    expect((await delivery.deliver(jobOf({ to }))).map((result) => told(result as Attempt))).toEqual([
      'bounced soft content_rejected',
      'delivered',
    ])
  })

  it('where only the domain is, it goes in A-labels', async () => {
    const mx = await testMx({ extensions: [] })
    expect(told(await testDelivery([mx]).attempt(jobOf({ to: ['info@bücher.example'] })))).toBe('delivered')
    expect(mx.messages[0]?.rcptTo).toEqual(['info@xn--bcher-kva.example'])
  })
})

describe('what must never leave', () => {
  it.each(smugglingSequences)('content with %j', async (sequence) => {
    const mx = await testMx()
    const text = `Subject: x\r\n\r\nbefore${sequence}MAIL FROM:<evil@x.test>\r\nRCPT TO:<victim@y.test>\r\nDATA\r\n`
    expect(told(await testDelivery([mx]).attempt(jobOf({ content: contentOf(text) })))).toBe('bounced soft internal_error')
    expect(mx.sessions).toHaveLength(0)
  })

  it('an address that ends the command', async () => {
    const mx = await testMx()
    const to = ['"foo@psres.net> ORCPT=admin@admin.com"@example.com', 'a@example.com>\r\nDATA', 'fine@example.com']
    const results = await testDelivery([mx]).deliver(jobOf({ to }))
    expect(results.map((result) => told(result as Attempt))).toEqual([
      'bounced soft invalid_recipient',
      'bounced soft invalid_recipient',
      'delivered',
    ])
    expect(mx.messages).toHaveLength(1)
    for (const command of mx.sessions[0]?.commands ?? [])
      expect(command).toMatch(/^(EHLO [\w.]+|MAIL FROM:<[\w@.]*>[ \w=.]*|RCPT TO:<[\w@.]*>[ \w=.]*|DATA|RSET)$/)
  })
})

it('mail whose turn after a stop does not come in time goes back untried', async () => {
  const mx = await testMx({ host: '127.0.8.21' })
  const delivery = testDelivery([mx], { limits: { waitMs: 1 } })
  const { providerStops } = delivery.services
  const stop = { key: 'site:mx1.example.com from any IPv4 address', until: Date.now() + 60_000, step: 0, reason: 'no' }
  providerStops.learn(stop)
  providerStops.learn({ ...stop, until: null })
  const leave = await providerStops.careful.enter(stop.key, { account: 1, isUrgent: false })
  expect(await delivery.deliver()).toEqual([{ recipientId: 'rcp_1', postponed: true, backoff: undefined }])
  leave?.()
  expect(told(await delivery.attempt())).toBe('delivered')
})

describe('where there is no host', () => {
  it.each<[string, Parameters<typeof fakeResolver>[0], string]>([
    ['no such domain', {}, 'bounced hard domain_not_found'],
    ['null MX', { 'example.com': { mx: [[0, '']] } }, 'bounced hard invalid_recipient'],
    ['SERVFAIL', { 'example.com': 'servfail' }, 'deferred timeout'],
  ])('%s: every recipient is told once', async (_, names, expected) => {
    const results = await testDelivery([], { resolver: fakeResolver(names) }).deliver(jobOf({ to: ['a@example.com', 'b@example.com'] }))
    expect(results.map((result) => told(result as Attempt))).toEqual([expected, expected])
    expect(results[0]).toMatchObject({ mxHost: null, address: null, transcript: '[]' })
  })

  it('an error of our own keeps the mail', async () => {
    const resolver = { ...fakeResolver({}), mx: () => Promise.reject(new Error('a mistake')) }
    const choice = { via: 'backup', routeId: 'rt_1' }
    const choices = { usual: bySettings, byProvider: [{ provider: 'google', choice }], isOfSome: false }
    for (const job of [jobOf(), jobOf({ choices })])
      expect(told(await testDelivery([], { resolver }).attempt(job))).toBe('deferred internal_error')
  })
})

describe('the memory of the content', () => {
  const large = `Subject: large\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(100_000)}`
  const isUnread = async (on: MxHooks, text = 'Subject: hi\r\n\r\nHello\r\n'): Promise<boolean> =>
    deliver(jobOf({ text }), () => {}, testDelivery([await testMx({ on })]).services)

  it('may be used again once all of it has left, whatever the answer', async () => {
    expect(await isUnread({})).toBe(true)
    expect(await isUnread({}, large)).toBe(true)
    expect(await isUnread({ dot: () => '554 5.7.1 No' })).toBe(true)
    expect(await isUnread({ dot: () => 'reset' })).toBe(true)
  })

  it('may be used again where none of it was sent', async () => {
    expect(await isUnread({ rcpt: () => '550 5.1.1 No such user' })).toBe(true)
    expect(await isUnread({ data: () => 'reset' })).toBe(true)
    expect(await isUnread({ banner: () => 'close' })).toBe(true)
  })

  it('may not be used again where the socket may still have to write from it', async () => {
    expect(await isUnread({ content: () => '452 4.3.1 Full' }, large)).toBe(false)
    expect(await isUnread({ content: () => 'reset' }, large)).toBe(false)
  })

  it('may not be used again after an error that is not understood', async () => {
    const { services } = testDelivery([await testMx()])
    services.pool.acquire = () => {
      throw new Error('of ours')
    }
    expect(await deliver(jobOf(), () => {}, services)).toBe(false)
  })
})

describe('mail that may be the work of another node by now', () => {
  const large = `Subject: large\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(100_000)}`
  const putBack = [{ recipientId: 'rcp_1', postponed: true }]

  it('is not begun, and is put back untried', async () => {
    const mx = await testMx()
    expect(await testDelivery([mx], { lease: { isPast: true } }).deliver()).toEqual(putBack)
    expect(mx.sessions[0]?.commands).toEqual(['EHLO relay.test'])
  })

  it.each([
    ['small', 'Subject: hi\r\n\r\nHello\r\n', 'data'],
    ['large', large, 'content'],
  ] as const)('does not get the final dot, and is put back untried: %s', async (_size, text, phase) => {
    const lease = { isPast: false }
    const end = () => void (lease.isPast = true)
    const mx = await testMx({ on: phase === 'data' ? { data: end } : { content: end } })
    expect(await testDelivery([mx], { lease }).deliver(jobOf({ text }))).toEqual(putBack)
    expect(mx.sessions[0]?.commands.at(-1)).toBe('DATA')
    await expect.poll(() => mx.sessions[0]?.closed).toBe(true)
    expect(mx.messages).toEqual([])
  })

  it('keeps what a host has said about it before', async () => {
    const lease = { isPast: false }
    const one = await testMx({ on: { banner: () => ((lease.isPast = true), '421 4.3.2 Later') } })
    const two = await testMx({ host: '127.0.0.2', port: one.port })
    expect(told(await testDelivery([one, two], { lease }).attempt())).toMatch(/^deferred/)
    expect(two.messages).toEqual([])
  })
})
