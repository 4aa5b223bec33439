import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { newToken } from '../../src/senders/account/api-key-token.ts'
import { createLog, gathered } from '../../src/platform/log.ts'

const lines: string[] = []
const log = createLog('info', (line) => lines.push(line))
const lastLine = (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown>

test('a line is one JSON object with level, time, fields and message', () => {
  log.info({ messageId: 'em_1', recipientId: 'rcp_1' }, 'delivered\nforged: line')
  expect(lastLine()).toMatchObject({ level: 'info', messageId: 'em_1', recipientId: 'rcp_1', message: 'delivered\nforged: line' })
  expect(lines.at(-1)?.trimEnd().split('\n')).toHaveLength(1)
  expect(Date.parse(String(lastLine()['time']))).toBeGreaterThan(0)
})

test('lines below the level are not written', () => {
  const before = lines.length
  log.debug({}, 'detail')
  expect(lines).toHaveLength(before)
})

test('secrets are never written, in any field or sentence', () => {
  const token = newToken(false)
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  log.warn({ token, headers: { authorization: `Bearer ${token}` }, webhook: { secret } }, 'fields')
  log.error({ error: new Error(`refused ${token}`), url: `http://x/?k=${secret}` }, `sentence with ${token}`)
  log.error({ error: null }, 'nothing was thrown')
  log.warn({ one: { two: { password: 'sesame-2' } }, list: [{ pass: 'sesame-3' }] }, 'deep')
  log.error({ error: Object.assign(new Error('no'), { password: 'sesame-4', options: { secret: 'sesame-5' } }) }, 'error')
  const written = lines.join('')
  expect(written).not.toContain('sesame')
  expect(written).toContain('"message":"no"')
  expect(written).not.toContain(token)
  expect(written).not.toContain(secret)
  expect(written).toContain('sterna_live_[removed]')
})

test('lines that only inform are written together, and before any that warns', async () => {
  const writes: string[] = []
  const written = Promise.withResolvers<void>()
  const gathering = createLog(
    'debug',
    gathered({
      write(text: string) {
        writes.push(text)
        if (writes.length === 2) written.resolve()
      },
    }),
  )
  gathering.info({}, 'one')
  gathering.debug({}, 'two')
  expect(writes).toEqual([])
  gathering.warn({}, 'three')
  const messages = (text = ''): unknown[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: unknown }).message)
  expect(messages(writes[0])).toEqual(['one', 'two', 'three'])
  gathering.info({}, 'four')
  gathering.info({}, 'five')
  await written.promise
  expect(messages(writes[1])).toEqual(['four', 'five'])
})

test.each(['process.exit(1)', 'throw new Error("crash")', 'void Promise.reject(new Error("crash"))'])('no line is lost at %s', (end) => {
  const module = new URL('../../src/platform/log.ts', import.meta.url).href
  const script = `import { createLog } from '${module}'; createLog('info').info({ messageId: 'em_1' }, 'mail was delivered'); ${end}`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  expect(stderr).toContain('"messageId":"em_1","message":"mail was delivered"')
})
