import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startEmailApi } from '../../support/email-api.ts'

const plain = { from: 'App <app@sender.example>', to: 'user@recipient.example', subject: 'Hello {{name}}' }

/** Answers 404 at `/gone`, and notes who is asked for. */
async function startSite(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`)
    res.writeHead(req.url === '/gone' ? 404 : 200).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

test('an email is checked, and its links are fetched only where that is asked for', async () => {
  const api = await startEmailApi()
  const site = await startSite()
  const html = `<a href="${site.url}/gone">1</a><a href="${site.url}/fine">2</a><a href="http://unknown.example/">3</a>`
  const { body } = await api.send({ ...plain, html })
  const checks = async (query = '') => (await api.get(`/api/emails/${body.id}/checks${query}`)).body
  const own = await checks()
  expect(own).toMatchObject({
    object: 'checks',
    findings: expect.arrayContaining([expect.objectContaining({ check: 'placeholders', status: 'warning' })]),
  })
  expect(site.asked).toEqual([])
  const { findings } = (await checks('?links=true')) as unknown as { findings: { check: string; what: string }[] }
  expect(site.asked.toSorted()).toEqual(['GET /fine', 'GET /gone'])
  const told = findings.slice((own['findings'] as object[]).length).map(({ what }) => what)
  expect(told.toSorted()).toEqual(
    [`${site.url}/gone: It answers 404.`, 'http://unknown.example/: The name unknown.example has no address.'].toSorted(),
  )
  expect((await checks('?links=yes')).name).toBe('invalid_parameter')
})

test('an account has four link checks under way, and another is told so; others are not concerned', async () => {
  const api = await startEmailApi()
  const answers: (() => void)[] = []
  const slow = createServer((_, res) => void answers.push(() => res.end())).listen(0, '127.0.0.1')
  await new Promise((resolve) => slow.once('listening', resolve))
  onTestFinished(() => void slow.close())
  const link = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`
  const { body } = await api.send({ ...plain, html: `<a href="${link}">1</a>` })
  const check = () => api.get(`/api/emails/${body.id}/checks?links=true`)
  const underWay = Array.from({ length: 4 }, check)
  await expect.poll(() => answers.length).toBe(4)
  expect(await check()).toMatchObject({
    status: 429,
    body: {
      name: 'rate_limit_exceeded',
      message:
        'Your account has 4 webhook tests, link checks and refreshes of policies under way, and no more are allowed. Try again when one has ended.',
    },
  })
  expect((await api.get(`/api/emails/${body.id}/checks`)).status).toBe(200)
  for (const answer of answers) answer()
  expect((await Promise.all(underWay)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const again = check()
  await expect.poll(() => answers.length).toBe(5)
  answers[4]!()
  expect((await again).status).toBe(200)
})

test('what is no longer kept cannot be checked', async () => {
  const api = await startEmailApi()
  const { body } = await api.send({ ...plain, text: 'Hello' })
  await api.db.write([{ sql: 'delete from content' }])
  expect(await api.get(`/api/emails/${body.id}/checks`)).toMatchObject({ status: 404, body: { name: 'not_found' } })
})
