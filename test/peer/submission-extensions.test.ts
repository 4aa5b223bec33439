import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { startTestRelay } from '../support/start-relay.ts'

const execute = promisify(execFile)
const script = new URL('smtp-clients/ask.py', import.meta.url).pathname

test('smtplib finds what is offered and asks for it, and Postfix, which knows none of it, gets the mail but with REQUIRETLS', async () => {
  const host = '127.0.0.3'
  const port = await freePort()
  const postfix = await startPostfixMailbox({ host, port })
  onTestFinished(() => postfix.stop())
  const relay = await startTestRelay(
    { delivery_port: String(port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
  )
  onTestFinished(() => relay.stop())
  const environment = { HOST: '127.0.0.1', PORT: String(relay.submissionPort), KEY: relay.token, FROM: 'app@sender.example' }
  const ask = (to: string, asks: string) =>
    execute('/usr/bin/python3', [script], {
      env: { ...environment, TO: to, ASKS: asks, NEEDS: 'FUTURERELEASE DELIVERBY MT-PRIORITY REQUIRETLS' },
    })
  const emailTo = async (to: string) => (await relay.call('GET', `/api/emails?to=${to}`)).body.data[0]
  const arrived = () => {
    const box = join(postfix.directory, 'mail', 'box', 'new')
    return readdirSync(box).map((name) => readFileSync(join(box, name), 'utf8'))
  }

  expect((await ask('ann@rcpt.example', 'HOLDFOR=600 BY=3600;R MT-PRIORITY=3')).stdout).toMatch(/^2592000 \S+Z 60\n$/)
  expect(await emailTo('ann@rcpt.example')).toMatchObject({ status: 'scheduled' })
  await ask('bob@rcpt.example', 'BY=60;N MT-PRIORITY=-9')
  await expect.poll(async () => (await emailTo('bob@rcpt.example')).status).toBe('delivered')
  relay.clock.advance(601_000)
  await expect.poll(async () => (await emailTo('ann@rcpt.example')).status).toBe('delivered')
  await ask('cat@rcpt.example', 'REQUIRETLS')
  await expect.poll(async () => (await emailTo('cat@rcpt.example')).status).toBe('bounced')
  await expect(ask('dan@rcpt.example', 'BY=0;R')).rejects.toThrow(/501, b'5\.5\.4 BY/)
  await expect.poll(arrived).toHaveLength(2)
})
