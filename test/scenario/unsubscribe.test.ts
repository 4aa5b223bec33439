import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { signatureVerdicts } from '../support/signature-verdicts.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.0.2' })
  relay = await startTestRelay(
    { delivery_port: String(mx.port), base_url: 'https://mail.example' },
    { 'rcpt.example': { a: ['127.0.0.2'] } },
  )
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

/** Everybody is somebody new. */
let people = 0
let ann = ''
beforeEach(() => {
  ann = `ann${++people}@rcpt.example`
})

interface Arrived {
  data: Buffer
  header: string
  /** Unfolded values, by name in lower case. */
  fields: Map<string, string>
  mailFrom: string
}

/** The newest message to this address, once there are so many. */
async function arrived(address: string, count = 1): Promise<Arrived> {
  const to = () => mx.messages.filter(({ rcptTo }) => rcptTo[0] === address)
  await expect.poll(() => to().length).toBe(count)
  const { data, mailFrom } = to()[count - 1]!
  const header = data.toString('latin1').split('\r\n\r\n')[0] ?? ''
  const lines = header.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  return {
    data,
    header,
    mailFrom,
    fields: new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)])),
  }
}

/** The path of the link, and the mailbox. */
function waysIn({ fields }: Arrived): { path: string; mailbox: string } {
  const [, path = '', mailbox = ''] =
    /^<https:\/\/mail\.example(\/u\/[\w-]+)>, <mailto:([^>?]+)\?subject=unsubscribe>$/.exec(fields.get('list-unsubscribe') ?? '') ?? []
  return { path, mailbox }
}

async function stateOf(id: string, address: string): Promise<string | undefined> {
  return (await relay.recipients(id))[address]?.status
}

const oneClick = (
  path: string,
  body: string | URLSearchParams | FormData = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
): Promise<Response> => fetch(relay.baseUrl + path, { method: 'POST', body, redirect: 'manual' })

async function unsubscribed(id: string): Promise<{ method: string; unsubscribed_at: string }[]> {
  const { body } = await relay.call('GET', `/api/emails/${id}/events`)
  return body.data.filter(({ type }: { type: string }) => type === 'email.unsubscribed').map(({ data }: { data: unknown }) => data)
}

const entries = async (): Promise<Record<string, unknown>[]> => {
  const { body } = await relay.call('GET', '/api/suppressions?origin=unsubscribe&limit=100')
  return body.data.filter(({ email }: { email: string }) => email === ann)
}

const signatures = (message: Buffer): Promise<string[]> => signatureVerdicts(relay, message)

describe('what leaves', () => {
  test('says whose it is, and how to unsubscribe, under both signatures', async () => {
    const id = await relay.send([ann, `b${ann}`], { unsubscribe: true, tags: [{ name: 'kind', value: 'news: spring' }] })
    const message = await arrived(ann)
    const other = await arrived(`b${ann}`)
    expect(waysIn(message).path).not.toBe('')
    expect(waysIn(message).path).not.toBe(waysIn(other).path)
    expect(waysIn(message).mailbox).toMatch(/^u[0-9a-z]{46}@relay\.example$/)
    expect(message.fields.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    expect(message.fields.get('x-sterna-ref')).toMatch(/^r[0-9a-z]{46}$/)
    // The token is of the same recipient as that of the reverse-path.
    expect(message.fields.get('x-sterna-ref')?.slice(1, 27)).toBe(message.mailFrom.slice(1, 27))
    expect(message.fields.get('feedback-id')).toMatch(/^news_spring:sender\.example:[0-9a-f]{16}:relayexample$/)
    expect(Math.max(...message.header.split('\r\n').map(({ length }) => length))).toBeLessThan(998)
    expect(await signatures(message.data)).toEqual(['pass', 'pass'])
    expect(await signatures(other.data)).toEqual(['pass', 'pass'])
    const text = message.data.toString('latin1')
    for (const [from, to] of [
      ['One-Click\r\n', 'Two-Click\r\n'],
      ['/u/', '/v/'],
      ['Feedback-ID: news', 'Feedback-ID: olds'],
    ] as const) {
      expect(await signatures(Buffer.from(text.replace(from, to), 'latin1'))).toEqual(['fail', 'fail'])
    }
    expect(await signatures(Buffer.from(`List-Unsubscribe: <https://evil.example/>\r\n${text}`, 'latin1'))).toEqual(['fail', 'fail'])
    await expect.poll(() => stateOf(id, ann)).toBe('delivered')
  })

  test('has the link in its body too, where that asks for it', async () => {
    await relay.send(ann, { unsubscribe: true, html: '<a href="{{unsubscribe_url}}">Leave</a>' })
    const message = await arrived(ann)
    const url = `https://mail.example${waysIn(message).path}`
    const body = message.data.toString('latin1').split('\r\n\r\n').slice(1).join('').replace(/=\r\n/g, '').replaceAll('=3D', '=')
    expect(body).toContain(`<a href="${url}">Leave</a>`)
    expect(body).toContain(`Leave [${url}]`)

    await relay.call('POST', '/api/templates', {
      name: 'News',
      alias: 'news',
      subject: 'News',
      html: '<p>{{title}}: {{unsubscribe_url}}</p>',
    })
    await relay.call('POST', '/api/templates/news/publish')
    const email = { from: 'app@sender.example', to: ann, template: { id: 'news', variables: { title: 'Spring' } } }
    expect(await relay.call('POST', '/api/send', { ...email, unsubscribe: { topic: 'news' } })).toMatchObject({ status: 200 })
    const second = await arrived(ann, 2)
    expect(second.data.toString('latin1').replace(/=\r\n/g, '')).toContain(`<p>Spring: https://mail.example${waysIn(second).path}</p>`)
    expect(await relay.call('POST', '/api/send', email)).toMatchObject({ status: 422, body: { name: 'missing_template_variable' } })
    const several = { from: email.from, to: [ann, `b${ann}`], subject: 'News', text: '{{unsubscribe_url}}', unsubscribe: true }
    expect(await relay.call('POST', '/api/send', several)).toMatchObject({ status: 422, body: { errors: [{ field: 'text' }] } })
  })

  test('says nothing of unsubscribing unless it was sent so', async () => {
    await relay.send(ann)
    const { fields } = await arrived(ann)
    expect([...fields.keys()].filter((name) => name.startsWith('list-'))).toEqual([])
    expect(fields.get('feedback-id')).toMatch(/^sender\.example:[0-9a-f]{16}:relayexample$/)
  })

  test("keeps a sender's own fields", async () => {
    await relay.send(ann, { unsubscribe: true, headers: { 'List-Unsubscribe': '<https://own.example/leave>', 'Feedback-ID': 'a:b:c:own' } })
    const { header, data } = await arrived(ann)
    expect(header.match(/^(?:List-Unsubscribe|Feedback-ID).*$/gim)).toEqual([
      'List-Unsubscribe: <https://own.example/leave>',
      'Feedback-ID: a:b:c:own',
    ])
    expect(await signatures(data)).toEqual(['pass', 'pass'])
  })

  test('by SMTP: the field that asks for it does not leave, and what the message was signed with before still holds', async () => {
    const theirs = 'DKIM-Signature: v=1; a=rsa-sha256; d=own.example; s=x; h=from; bh=; b='
    const text = `${theirs}\r\nFrom: app@sender.example\r\nTo: ${ann}\r\nSubject: news\r\nX-Unsubscribe: spring\r\n\r\nHello\r\n`
    const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
    expect((await client.send(text, { from: 'app@sender.example', to: [ann] })).code).toBe(250)
    client.close()
    const message = await arrived(ann)
    expect(message.fields.has('x-unsubscribe')).toBe(false)
    expect(message.fields.has('feedback-id')).toBe(false)
    const { path } = waysIn(message)
    expect((await oneClick(path)).status).toBe(200)
    expect(await entries()).toMatchObject([{ topic: 'spring' }])
  })
})

describe('one click', () => {
  test.each<[string, () => string | URLSearchParams | FormData]>([
    ['as a form of a URL', () => new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })],
    [
      'as multipart/form-data',
      () => {
        const form = new FormData()
        form.append('List-Unsubscribe', 'One-Click')
        return form
      },
    ],
  ])('%s ends mail of that kind, once, and nothing else', async (_, body) => {
    const id = await relay.send(ann, { unsubscribe: true })
    const { path } = waysIn(await arrived(ann))
    // Of those at once one is first.
    const answers = [...(await Promise.all(Array.from({ length: 20 }, () => oneClick(path, body())))), await oneClick(path, body())]
    for (const { status, headers } of answers)
      expect([status, headers.has('set-cookie'), headers.has('location')]).toEqual([200, false, false])
    expect(await unsubscribed(id)).toMatchObject([{ method: 'one_click' }])
    const { body: email } = await relay.call('GET', `/api/emails/${id}`)
    expect(email.recipients[0]).toMatchObject({ status: 'delivered', unsubscribed_at: expect.stringMatching(/Z$/) })
    expect(await entries()).toMatchObject([{ origin: 'unsubscribe', source_id: id, topic: null }])

    const next = await relay.send(ann, { unsubscribe: true })
    expect(await stateOf(next, ann)).toBe('suppressed')
    const reset = await relay.send(ann, { subject: 'Reset your password' })
    const offers = await relay.send(ann, { unsubscribe: { topic: 'offers' } })
    await arrived(ann, 3)
    await expect.poll(() => Promise.all([stateOf(reset, ann), stateOf(offers, ann)])).toEqual(['delivered', 'delivered'])
  })

  test('a topic ends by itself, for mail that waits too, and begins again when its entry is removed', async () => {
    await relay.send(ann, { unsubscribe: { topic: 'news' } })
    const { path } = waysIn(await arrived(ann))
    const later = { scheduled_at: new Date(relay.clock.now() + 60_000).toISOString() }
    const waiting = await relay.send(ann, { unsubscribe: { topic: 'news' }, ...later })
    const receipt = await relay.send(ann, later)
    await oneClick(path)
    relay.clock.advance(61_000)
    await expect.poll(() => stateOf(waiting, ann)).toBe('suppressed')
    await expect.poll(() => stateOf(receipt, ann)).toBe('delivered')
    expect(await stateOf(await relay.send(ann, { unsubscribe: { topic: 'news' } }), ann)).toBe('suppressed')
    await expect.poll(async () => stateOf(await relay.send(ann, { unsubscribe: true }), ann)).not.toBe('suppressed')

    const [entry] = await entries()
    expect(entry).toMatchObject({ topic: 'news' })
    await relay.call('DELETE', `/api/suppressions/${entry?.['id'] as string}`)
    const again = await relay.send(ann, { unsubscribe: { topic: 'news' } })
    await expect.poll(() => stateOf(again, ann)).toBe('delivered')
  })

  test('in a batch each email has its own topic', async () => {
    await relay.send(ann, { unsubscribe: { topic: 'news' } })
    await oneClick(waysIn(await arrived(ann)).path)
    const email = { from: 'app@sender.example', to: ann, subject: 'Hello', text: 'Hello' }
    const topics = [{ topic: 'news' }, { topic: 'other' }, true, undefined]
    const { body } = await relay.call(
      'POST',
      '/api/emails/batch',
      topics.map((unsubscribe) => ({ ...email, unsubscribe })),
    )
    const states = await Promise.all(body.data.map(({ id }: { id: string }) => stateOf(id, ann)))
    expect(states.map((state) => state === 'suppressed')).toEqual([true, false, false, false])
  })

  test('works when the message is kept no more', async () => {
    const id = await relay.send(ann, { unsubscribe: true })
    const { path } = waysIn(await arrived(ann))
    await expect.poll(() => stateOf(id, ann)).toBe('delivered')
    const { db } = relay.relay.services
    await db.write(
      ['event', 'attempt', 'content', 'recipient'].map((table) => ({ sql: `delete from ${table} where message_id = :id`, params: { id } })),
    )
    await db.write([{ sql: 'delete from message where id = :id', params: { id } }])
    expect((await oneClick(path)).status).toBe(200)
    expect(await entries()).toMatchObject([{ source_id: id }])
    expect(await stateOf(await relay.send(ann, { unsubscribe: true }), ann)).toBe('suppressed')
  })
})

describe('the page', () => {
  test('changes nothing when it is looked at, and asks', async () => {
    const id = await relay.send(ann, { unsubscribe: { topic: 'news' } })
    const { path } = waysIn(await arrived(ann))
    for (const method of ['GET', 'HEAD', 'GET']) {
      const looked = await fetch(relay.baseUrl + path, { method })
      expect([looked.status, looked.headers.get('content-type'), looked.headers.has('set-cookie')]).toEqual([
        200,
        'text/html; charset=utf-8',
        false,
      ])
      expect(looked.headers.get('content-security-policy')).toMatch(/^default-src 'none'/)
      if (method === 'GET')
        expect(await looked.text()).toMatch(new RegExp(`${ann}[^]*news[^]*<form method="post"><button name="unsubscribe"`))
    }
    for (const body of ['', 'x=y', 'List-Unsubscribe=Maybe']) {
      expect((await oneClick(path, new URLSearchParams(body))).status).toBe(422)
    }
    expect((await oneClick(path, 'List-Unsubscribe=One-Click')).status).toBe(422)
    expect((await oneClick(path, new URLSearchParams({ unsubscribe: 'x'.repeat(20_000) }))).status).toBe(413)
    expect([await unsubscribed(id), await entries()]).toEqual([[], []])

    const done = await oneClick(path, new URLSearchParams({ unsubscribe: 'yes' }))
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('Unsubscribed')])
    expect(await unsubscribed(id)).toMatchObject([{ method: 'link' }])
  })

  test('is none where the link is not of this server', async () => {
    await relay.send(ann, { unsubscribe: true })
    const { path } = waysIn(await arrived(ann))
    const wrong = [
      `${path}A`,
      path.slice(0, -1),
      `/u/${path.slice(3).toUpperCase()}`,
      `/u/${'A'.repeat(200)}`,
      '/u/x',
      `/u/${'A'.repeat(5000)}`,
      '/u/%00',
    ]
    for (const each of wrong) {
      for (const answer of [await fetch(relay.baseUrl + each), await oneClick(each)]) {
        expect([each, answer.status, answer.headers.get('content-type')]).toEqual([each, 404, 'text/html; charset=utf-8'])
      }
    }
    expect(await entries()).toEqual([])
  })

  test('a flood from one address is refused for a while', async () => {
    const id = await relay.send(ann, { unsubscribe: true })
    const { path } = waysIn(await arrived(ann))
    const answers: Response[] = []
    for (let i = 0; i < 8; i++) answers.push(...(await Promise.all(Array.from({ length: 50 }, () => oneClick(path)))))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await unsubscribed(id)).toHaveLength(1)
    relay.clock.advance(61_000)
    expect((await oneClick(path)).status).toBe(200)
  })
})

describe('a mail to the mailbox of the message', () => {
  async function mailTo(mailbox: string): Promise<number> {
    const client = await SmtpClient.connect(relay.returnPathPort)
    await client.command('EHLO mx.rcpt.example')
    const { code } = await client.send(`From: ${ann}\r\nSubject: unsubscribe\r\n\r\n\r\n`, { from: ann, to: [mailbox] })
    client.close()
    return code
  }

  test('ends it, once', async () => {
    const id = await relay.send(ann, { unsubscribe: { topic: 'news' } })
    const { mailbox } = waysIn(await arrived(ann))
    for (let i = 0; i < 3; i++) expect(await mailTo(mailbox)).toBe(250)
    await expect.poll(() => unsubscribed(id)).toMatchObject([{ method: 'mailto' }])
    expect(await entries()).toMatchObject([{ topic: 'news' }])
    expect(await stateOf(await relay.send(ann, { unsubscribe: { topic: 'news' } }), ann)).toBe('suppressed')
  })

  test('is refused where the mailbox is none of ours', async () => {
    await relay.send(ann, { unsubscribe: true })
    const { mailFrom, ...message } = await arrived(ann)
    const { mailbox } = waysIn({ mailFrom, ...message })
    expect(await mailTo(`u${mailFrom.slice(1)}`)).toBe(550)
    expect(await mailTo(mailbox.replace('@relay.example', '@other.example'))).toBe(550)
    expect(await entries()).toEqual([])
  })
})

describe('in the sandbox', () => {
  /** The link in the body of an email that was sent with this key. */
  async function pathIn(id: string, key: string): Promise<string> {
    const { body } = await relay.call('GET', `/api/emails/${id}`, undefined, { authorization: `Bearer ${key}` })
    return /https:\/\/mail\.example(\/u\/[\w-]+)/.exec(body.text)?.[1] ?? ''
  }

  test('whoever unsubscribes gets live mail all the same, and the other way round', async () => {
    const { accounts, apiKeys } = relay.relay.services
    const { token: sandboxKey } = await apiKeys.create({
      accountId: accounts.getAccount('test').id,
      name: 'sandbox',
      permission: 'full_access',
      sandbox: true,
    })
    const keys = { live: relay.token, sandbox: sandboxKey }
    const send = async (mode: keyof typeof keys, to: string): Promise<{ id: string; path: string; isSuppressed: boolean }> => {
      const email = { from: 'app@sender.example', to, subject: 'News', text: '{{unsubscribe_url}}', unsubscribe: true }
      const { body } = await relay.call('POST', '/api/emails', email, { authorization: `Bearer ${keys[mode]}` })
      return { id: body.id, path: await pathIn(body.id, keys[mode]), isSuppressed: body.recipients[0].status === 'suppressed' }
    }
    const listed = async (mode: keyof typeof keys, address: string): Promise<(string | null)[]> => {
      const { body } = await relay.call('GET', '/api/suppressions?limit=100', undefined, { authorization: `Bearer ${keys[mode]}` })
      return body.data
        .filter(({ email }: { email: string }) => email === address)
        .map(({ source_id }: { source_id: string | null }) => source_id)
    }
    const told = async (mode: keyof typeof keys): Promise<string[]> => {
      const { body } = await relay.call('GET', '/api/events?type=email.unsubscribed&limit=100', undefined, {
        authorization: `Bearer ${keys[mode]}`,
      })
      return body.data.map(({ data }: { data: { email_id: string } }) => data.email_id)
    }
    for (const [first, second, address] of [
      ['sandbox', 'live', ann],
      ['live', 'sandbox', `b${ann}`],
    ] as const) {
      const [one, other] = [await send(first, address), await send(second, address)]
      expect((await oneClick(one.path)).status).toBe(200)
      expect([await listed(first, address), await listed(second, address)]).toEqual([[one.id], []])
      expect([await told(first), await told(second)]).toEqual([expect.arrayContaining([one.id]), expect.not.arrayContaining([one.id])])
      expect([(await send(first, address)).isSuppressed, (await send(second, address)).isSuppressed]).toEqual([true, false])
      // Being on one list is no reason to be passed over for the other.
      expect((await oneClick(other.path)).status).toBe(200)
      expect(await listed(second, address)).toEqual([other.id])
      expect((await send(second, address)).isSuppressed).toBe(true)
    }
  })
})
