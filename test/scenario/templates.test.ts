import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

test('what is pushed and published beside a running server is sent from the next email on, also after a restart', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const directory = testDirectory()
  const push = async (html: string): Promise<void> => {
    writeFileSync(join(directory, 'news.html'), html)
    const argv = ['template', 'push', 'news.html', 'frame.html', '--account', 'test', '--publish']
    expect(await runCommand({ argv, cwd: directory }, relay.relay.services)).toMatchObject({ exitCode: 0, stderr: '' })
  }
  const sent = async (): Promise<string> => {
    const email = { from: 'app@sender.example', to: 'delivered@simulator.test', template: { id: 'news', variables: { name: 'Ann' } } }
    const { id } = (await relay.call('POST', '/api/emails', email)).body
    return (await relay.call('GET', `/api/emails/${id}`)).body.html.trimEnd()
  }
  writeFileSync(join(directory, 'frame.html'), '<body>{{{@content}}}</body>\n')
  writeFileSync(join(directory, 'news.json'), '{"layout": "frame"}')
  await push('<title>News</title><p>Hello {{name}}</p>\n')
  expect(await sent()).toBe('<body><title>News</title><p>Hello Ann</p></body>')
  await push('<p>Good day {{name}}</p>\n')
  expect(await sent()).toBe('<body><p>Good day Ann</p></body>')
  expect((await relay.call('POST', '/api/templates/news/versions/1/restore')).body).toMatchObject({ version: 3 })
  expect(await sent()).toBe('<body><title>News</title><p>Hello Ann</p></body>')
  await relay.restart()
  expect(await sent()).toBe('<body><title>News</title><p>Hello Ann</p></body>')
  const [entry] = (await relay.call('GET', '/api/templates/news/versions')).body.data
  expect(entry).toMatchObject({ number: 3, published_by: { type: 'key', name: 'test' } })
})
