import { onTestFinished } from 'vitest'
import { startS3 } from './s3-server.ts'

/** The settings that lead to an S3 server of the running test, with an empty bucket `copies`. */
export async function testS3(): Promise<Record<string, string>> {
  const { settings, stop } = await startS3()
  onTestFinished(stop)
  return settings
}
