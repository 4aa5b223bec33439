import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import type { TestRelay } from './start-relay.ts'

/** What a verifier says of each DKIM signature of a message, with the keys that `sender.example` is to publish. */
export async function signatureVerdicts(relay: TestRelay, message: Buffer): Promise<string[]> {
  const { records } = (await relay.call('GET', '/api/domains/sender.example')).body
  const published = new Map<string, string>(records.map(({ name, value }: { name: string; value: string }) => [name, value]))
  const { results } = await dkimVerify(message, {
    curTime: new Date(relay.clock.now()),
    resolver: async (name: string) => [[published.get(name) ?? '']],
  })
  return results.map(({ status }) => status.result)
}
