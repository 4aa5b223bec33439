import { existsSync, writeFileSync } from 'node:fs'
import type { Fault } from './fault.ts'
import type { Stage } from './fault-stage.ts'

/** The threads that are replaced, and what the log says of it. */
const replaced = {
  reader: /the thread for slow queries has ended/,
  delivery: /a delivery thread has crashed/,
  composer: /the composer thread has ended/,
}

/** Each thread of a server ends without an error, one after the other. */
const endedThreads: Fault = {
  name: 'each thread ended',
  isShort: true,
  settings: { NODE_OPTIONS: `--require=${new URL('end-thread.cjs', import.meta.url).pathname}` },
  async strike(stage) {
    const { server, supervised, sink, problems } = stage
    for (const [name, words] of Object.entries(replaced)) {
      // The composer's thread is started for it.
      await sendLarge(stage)
      await endThread(stage, name)
      await stage.demand(`telling that the ${name} thread ended`, () => words.test(server.logged))
      const [list, large] = [await statusOf(stage, '/api/emails'), await sendLarge(stage)]
      if (list !== 200 || large !== 200) problems.push(`after the ${name} thread ended, a list got ${list} and a large email ${large}`)
      await stage.takes(5)
      const taken = sink.taken.size
      await stage.demand(`delivering after the ${name} thread ended`, () => sink.taken.size > taken + 5)
    }
    if (supervised.endings.length > 0) problems.push('another thread than the writer ended the server')
    await endThread(stage, 'writer')
    await stage.demand('ended with the writer', () => supervised.endings.length > 0)
    await stage.isUp()
  },
}

async function endThread(stage: Stage, name: string): Promise<void> {
  const wish = `${stage.directory}.end-${name}`
  writeFileSync(wish, '')
  await stage.demand(`ended the ${name} thread`, () => !existsSync(wish))
}

/** An email of 300 KB to the simulator, which needs no host. */
function sendLarge(stage: Stage): Promise<number> {
  const email = { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'Large', text: 'x'.repeat(300_000) }
  return statusOf(stage, '/api/emails', JSON.stringify(email))
}

async function statusOf({ server: { httpPort, token } }: Stage, path: string, body?: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, body === undefined ? { headers } : { method: 'POST', headers, body })
  await answer.arrayBuffer()
  return answer.status
}

export const threadFaults: Fault[] = [endedThreads]
