import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { startFakeMx, type FakeMx, type MxMessage } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const hour = 3_600_000
const day = 24 * hour

/** Mail servers of those who are written to, and of the app that gets the notices. */
let receiver: FakeMx
let inbox: FakeMx
const greylisted = new Set<string>()
let relay: TestRelay

beforeAll(async () => {
  receiver = await startFakeMx({
    host: '127.0.3.1',
    on: {
      rcpt: (address) => {
        if (address.startsWith('gone')) return '550 5.1.1 No such user here'
        if (address.startsWith('soon') && !greylisted.has(address)) {
          greylisted.add(address)
          return '451 4.7.1 Greylisted, come back soon'
        }
        return address.startsWith('later') ? '451 4.7.1 Greylisted, come back later' : undefined
      },
    },
  })
  inbox = await startFakeMx({ host: '127.0.3.2', port: receiver.port })
  relay = await startTestRelay(
    { delivery_port: String(receiver.port) },
    {
      'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: ['127.0.3.1'] },
      'sender.example': { mx: [[10, 'mx.sender.example']] },
      'mx.sender.example': { a: ['127.0.3.2'] },
    },
  )
})

afterEach(() => {
  inbox.messages.length = 0
})

afterAll(async () => {
  await relay.stop()
  await Promise.all([receiver.close(), inbox.close()])
})

const turnNotices = async (on: boolean): Promise<void> => {
  const { status, body } = await relay.call('PATCH', '/api/account', { delivery_notices: on })
  expect([status, body.delivery_notices]).toEqual([200, on])
}

/** Who has bounced once is not written to again. */
let last = 0
const gone = (): string => `gone${++last}@rcpt.example`

interface Mail {
  from?: string
  /** Behind MAIL FROM. */
  mail?: string
  /** Addresses with what stands behind each in RCPT TO. */
  to: Record<string, string>
  text?: string
}

/** Submits by SMTP as an app does; gives the id. */
async function submit({ from = 'bounces@sender.example', mail = '', to, text = 'Hello.' }: Mail, by = relay): Promise<string> {
  const client = await SmtpClient.logIn(by.submissionPort, by.token)
  try {
    for (const line of [
      `MAIL FROM:<${from}>${mail}`,
      ...Object.entries(to).map(([address, rcpt]) => `RCPT TO:<${address}>${rcpt}`),
      'DATA',
    ]) {
      const { code, last } = await client.command(line)
      if (code >= 400) throw new Error(last)
    }
    client.write(
      `From: App <app@sender.example>\r\nTo: you@rcpt.example\r\nSubject: Your order\r\nMessage-ID: <order-7@sender.example>\r\n\r\n${text}\r\n.\r\n`,
    )
    const { last } = await client.reply()
    return /em_[0-9a-z]{26}/.exec(last)?.[0] ?? last
  } finally {
    client.close()
  }
}

const reaches = (id: string, address: string, state: string): Promise<void> =>
  expect.poll(async () => (await relay.recipients(id))[address]?.status).toBe(state)

/** The log has been read up to its end. */
async function allTold(): Promise<void> {
  const { db } = relay.relay.services
  const unread = `select 1 from cursor where name = 'notice' and position < (select max(seq) from event where sandbox = 0)`
  const underWay = `select 1 from recipient where account_id = 'acc_00000000000000000000000000' and due_at is not null`
  await expect.poll(() => db.read(`${unread} union all ${underWay}`)).toEqual([])
}

async function notices(count: number): Promise<string[]> {
  await expect.poll(() => inbox.messages.length).toBe(count)
  return inbox.messages.map(textOf)
}

const textOf = ({ data }: MxMessage): string => data.toString()

describe('an account that has not asked for notices', () => {
  test('gets none', async () => {
    expect((await relay.call('GET', '/api/account')).body.delivery_notices).toBe(false)
    const [before, after] = [gone(), gone()]
    await reaches(await submit({ to: { [before]: ' NOTIFY=FAILURE' } }), before, 'bounced')
    await turnNotices(true)
    // What happened before it was turned on is not told either.
    await submit({ to: { [after]: '' } })
    const [notice] = await notices(1)
    expect(notice).toContain(after)
  })
})

describe('an account that wants them', () => {
  beforeAll(() => turnNotices(true))

  test('is told of a failure as it asked to be', async () => {
    const [one, other] = [gone(), gone()]
    const to = { [one]: ' NOTIFY=FAILURE,DELAY ORCPT=rfc822;Gone+2Buser@rcpt.example', [other]: ' NOTIFY=FAILURE', 'ann@rcpt.example': '' }
    const id = await submit({ mail: ' RET=HDRS ENVID=order+2B7', to, text: 'The body.' })
    for (const address of [one, other]) await reaches(id, address, 'bounced')
    await allTold()
    // What is settled within a moment may still be on two sides of it.
    const all = inbox.messages.map(textOf).join('\n')
    for (const line of [
      'From: Mail Delivery <postmaster@relay.example>',
      'To: bounces@sender.example',
      'Subject: Not delivered: Your order',
      'Auto-Submitted: auto-replied',
      'References: <order-7@sender.example>',
      'Content-Type: multipart/report; report-type=delivery-status;',
      'Content-Type: message/delivery-status',
      'Reporting-MTA: dns; relay.example',
      'Original-Envelope-Id: order+7',
      'Original-Recipient: rfc822; Gone+user@rcpt.example',
      `Final-Recipient: rfc822; ${one}`,
      `Final-Recipient: rfc822; ${other}`,
      'Action: failed',
      'Status: 5.1.1',
      'Remote-MTA: dns; mx.rcpt.example',
      'Diagnostic-Code: smtp; 550 5.1.1 No such user here',
      'Content-Type: text/rfc822-headers',
      'Message-ID: <order-7@sender.example>',
    ]) {
      expect(all).toContain(`${line}\r\n`)
    }
    expect(all).toMatch(/Message-ID: <[0-9a-f]{32}@relay\.example>\r\n/)
    expect(all).not.toContain('The body.')
    expect(all).not.toContain('ann@rcpt.example')
    for (const { mailFrom, mailParams, rcptParams } of inbox.messages) {
      expect([mailFrom, rcptParams]).toEqual(['', ['NOTIFY=NEVER']])
      expect(mailParams).not.toContain('RET')
    }
  })

  test('gets the whole message back with RET=FULL', async () => {
    await submit({ mail: ' RET=FULL', to: { [gone()]: '' }, text: 'The body.' })
    const [notice] = await notices(1)
    expect(notice).toContain('Content-Type: message/rfc822\r\n')
    expect(notice).toContain('\r\n\r\nThe body.\r\n')
  })

  test.each([
    ['NOTIFY=NEVER', 'bounces@sender.example', ' NOTIFY=NEVER'],
    ['NOTIFY=SUCCESS, which does not ask for failures', 'bounces@sender.example', ' NOTIFY=SUCCESS'],
    ['the null reverse-path', '', ''],
  ])('gets none with %s', async (_, from, rcpt) => {
    const to = gone()
    await reaches(await submit({ from, to: { [to]: rcpt } }), to, 'bounced')
    await allTold()
    expect(inbox.messages).toEqual([])
  })

  test('gets none where the domain of the reverse-path is no longer its own', async () => {
    const { sendingDomains, accounts } = relay.relay.services
    const domain = await sendingDomains.add(accounts.getAccount('test').id, 'brief.example')
    await sendingDomains.verifyManually(domain.id)
    relay.dns.zone['brief.example'] = { mx: [[10, 'mx.sender.example']] }
    const id = await submit({ from: 'bounces@brief.example', to: { 'later@rcpt.example': '' } })
    await reaches(id, 'later@rcpt.example', 'deferred')
    await sendingDomains.remove(domain.id)
    await relay.relay.services.queueAdmin.bounce('rcpt.example')
    await reaches(id, 'later@rcpt.example', 'bounced')
    await allTold()
    expect(inbox.messages).toEqual([])
  })

  test('is told of success where it asked, and of nothing where it did not', async () => {
    const id = await submit({ to: { 'ann@rcpt.example': ' NOTIFY=SUCCESS', 'bob@rcpt.example': '' } })
    await reaches(id, 'bob@rcpt.example', 'delivered')
    const [notice] = await notices(1)
    expect(notice).toContain('Action: delivered\r\nStatus: 2.')
    expect(notice).toContain('Final-Recipient: rfc822; ann@rcpt.example')
    await allTold()
    expect(inbox.messages).toHaveLength(1)
  })

  test('is warned once of a delay, and told when it was in vain', async () => {
    const id = await submit({ to: { 'later@rcpt.example': ' NOTIFY=FAILURE,DELAY', 'later2@rcpt.example': ' NOTIFY=FAILURE' } })
    await reaches(id, 'later@rcpt.example', 'deferred')
    const { db } = relay.relay.services
    await expect.poll(() => db.read('select 1 from notice where message_id = :id and due_at is not null', { id })).toHaveLength(1)
    await allTold()
    relay.clock.advance(3 * hour)
    await allTold()
    expect(inbox.messages).toEqual([])
    relay.clock.advance(hour + 60_000)
    const [warning] = await notices(1)
    expect(warning).toContain('Final-Recipient: rfc822; later@rcpt.example\r\nAction: delayed\r\nStatus: 4.7.1\r\n')
    expect(warning).toContain('Will-Retry-Until: Mon, 23 Nov 2026')
    expect(warning).not.toContain('later2@')
    relay.clock.advance(10 * hour)
    await allTold()
    relay.clock.advance(2 * day)
    await reaches(id, 'later2@rcpt.example', 'bounced')
    await expect
      .poll(
        () =>
          inbox.messages
            .map(textOf)
            .join()
            .match(/Action: \w+/g)
            ?.toSorted(),
        { timeout: 90_000 },
      )
      .toEqual(['Action: delayed', 'Action: failed', 'Action: failed'])
  })

  test('is not warned of a delay that ended well, nor when it wants no notices any more', async () => {
    const { db } = relay.relay.services
    const planned = (id: string) => db.read('select due_at from notice where message_id = :id', { id })
    const delayedMail = async (to: string): Promise<string> => {
      const id = await submit({ to: { [to]: ' NOTIFY=DELAY' } })
      await reaches(id, to, 'deferred')
      await expect.poll(() => planned(id)).toHaveLength(1)
      return id
    }
    const soon = await delayedMail('soon@rcpt.example')
    const later = await delayedMail('later3@rcpt.example')
    relay.clock.advance(hour)
    await reaches(soon, 'soon@rcpt.example', 'delivered')
    await turnNotices(false)
    relay.clock.advance(4 * hour)
    await expect.poll(async () => [await planned(soon), await planned(later)]).toEqual([[], []])
    expect(inbox.messages).toEqual([])
    // It may be tried just now.
    const bounce = () =>
      relay.relay.services.queueAdmin.bounce('rcpt.example').then(
        ({ recipients }) => recipients,
        () => 0,
      )
    await expect.poll(bounce).toBe(1)
    await reaches(later, 'later3@rcpt.example', 'bounced')
    await turnNotices(true)
  })

  test('gets none in the sandbox', async () => {
    const { apiKeys, accounts, db } = relay.relay.services
    const { token } = await apiKeys.create({
      accountId: accounts.getAccount('test').id,
      name: 'sandbox',
      permission: 'full_access',
      sandbox: true,
    })
    const id = await submit({ to: { 'bounced@simulator.test': '' } }, { ...relay, token })
    await expect.poll(() => db.read('select state from recipient where message_id = :id', { id })).toEqual([{ state: 'bounced' }])
    const to = gone()
    await submit({ to: { [to]: '' } })
    const [notice] = await notices(1)
    expect(notice).toContain(to)
  })

  test('is told once however often the server ends in between', async () => {
    inbox.on.dot = () => '451 4.3.0 Later'
    const to = gone()
    const id = await submit({ to: { [to]: '' } })
    await reaches(id, to, 'bounced')
    const { db } = relay.relay.services
    await expect.poll(() => db.read('select 1 from notice where message_id = :id', { id })).toHaveLength(1)
    // As if it had ended after the notice was accepted and before the cursor moved.
    await db.write([{ sql: `update cursor set position = 0 where name = 'notice'` }])
    inbox.on = {}
    await relay.restart()
    relay.clock.advance(hour)
    await notices(1)
    await allTold()
    expect(inbox.messages).toHaveLength(1)
  })

  test('is told in UTF-8 where the addresses are beyond ASCII', async () => {
    const to = 'gone-jürgen@rcpt.example'
    await submit({ from: 'bücher@sender.example', mail: ' SMTPUTF8', to: { [to]: ` ORCPT=utf-8;${to}` } })
    const [notice] = await notices(1)
    expect(inbox.messages[0]).toMatchObject({
      rcptTo: ['bücher@sender.example'],
      mailParams: expect.stringMatching(/BODY=8BITMIME SMTPUTF8/),
    })
    for (const line of [
      'Content-Type: message/global-delivery-status',
      `Original-Recipient: utf-8; ${to}`,
      `Final-Recipient: utf-8; ${to}`,
      'Content-Type: message/global-headers',
    ]) {
      expect(notice).toContain(`${line}\r\n`)
    }
  })

  test('is told when mail that was taken comes back', async () => {
    const id = await submit({ mail: ' ENVID=order-9', to: { 'full@rcpt.example': '' } })
    await reaches(id, 'full@rcpt.example', 'delivered')
    const taken = receiver.messages.find(({ rcptTo }) => rcptTo.includes('full@rcpt.example'))
    const client = await SmtpClient.connect(relay.returnPathPort)
    await client.command('EHLO mx.rcpt.example')
    const report = `From: MAILER-DAEMON@mx.rcpt.example
To: ${taken?.mailFrom}
Subject: Undelivered
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b
Content-Type: text/plain

It did not arrive.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; store.rcpt.example

Final-Recipient: rfc822; full@rcpt.example
Action: failed
Status: 5.2.2
Diagnostic-Code: smtp; 552 5.2.2 Mailbox full
--b--`
    expect((await client.send(report.replaceAll('\n', '\r\n'), { from: '', to: [taken?.mailFrom ?? ''] })).code).toBe(250)
    client.close()
    const [notice] = await notices(1)
    for (const line of ['Original-Envelope-Id: order-9', 'Final-Recipient: rfc822; full@rcpt.example', 'Action: failed', 'Status: 5.2.2']) {
      expect(notice).toContain(`${line}\r\n`)
    }
    expect(notice).toContain('Mailbox full')
    // The host that took it is not the one that gave it up.
    expect(notice).not.toContain('Remote-MTA')
  })

  test('gets none for mail by HTTP, and can do without them again', async () => {
    const [byHttp, unwanted, wanted] = [gone(), gone(), gone()]
    await reaches(await relay.send(byHttp), byHttp, 'bounced')
    await allTold()
    const { exitCode } = await runCommand({ argv: ['account', 'notices', 'test', 'off'], cwd: '/' }, relay.relay.services)
    expect(exitCode).toBe(0)
    await reaches(await submit({ to: { [unwanted]: '' } }), unwanted, 'bounced')
    await turnNotices(true)
    await submit({ to: { [wanted]: '' } })
    const [notice] = await notices(1)
    expect(notice).toContain(wanted)
  })
})

test('a notice that cannot be delivered is dropped, and suppresses nobody', async () => {
  inbox.on.rcpt = () => '550 5.1.1 No such user'
  await submit({ to: { [gone()]: '' } })
  const { db } = relay.relay.services
  const failed = `select 1 from recipient where account_id = 'acc_00000000000000000000000000' and state = 'bounced'`
  await expect.poll(() => db.read(failed)).toHaveLength(1)
  await allTold()
  expect(await db.read(`select address from suppression where address = 'bounces@sender.example'`)).toEqual([])
  inbox.on = {}
  expect(inbox.messages).toEqual([])
})

test('mail that goes on by a smarthost is handed on, not delivered, also where the smarthost was busy at first', async () => {
  let isBusy = true
  const rcpt = (address: string): string | undefined => {
    if (!isBusy || !address.startsWith('ann')) return undefined
    isBusy = false
    return '451 4.3.2 Busy'
  }
  const smarthost = await startFakeMx({ host: '127.0.3.7', on: { rcpt } })
  const other = await startTestRelay({ delivery_smarthost: `127.0.3.7:${smarthost.port}` })
  try {
    await other.call('PATCH', '/api/account', { delivery_notices: true })
    const id = await submit({ to: { 'ann@rcpt.example': ' NOTIFY=SUCCESS' } }, other)
    await expect.poll(async () => (await other.recipients(id))['ann@rcpt.example']?.status).toBe('deferred')
    other.clock.advance(70_000)
    const [, notice] = await smarthost.waitForMessages(2)
    expect(notice?.data.toString()).toContain('Final-Recipient: rfc822; ann@rcpt.example\r\nAction: relayed\r\nStatus: 2.0.0\r\n')
    expect(await other.events(id)).toContain('email.relayed')
  } finally {
    await other.stop()
    await smarthost.close()
  }
})
