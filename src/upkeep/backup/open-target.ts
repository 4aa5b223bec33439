import { resolve } from 'node:path'
import { SternaError } from '../../platform/errors.ts'
import { DirectoryTarget } from './directory-target.ts'
import { S3Target } from './s3-target.ts'
import type { Target } from './target.ts'

/** How to reach an S3-compatible store. */
export interface S3Access {
  /** Without it, Amazon's for the region. */
  endpoint: string | null
  region: string
  accessKeyId: string | null
  secretAccessKey: string | null
}

const s3Form = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/

/** Whether a text names a place in an S3-compatible store. */
export const isS3 = (text: string): boolean => text.startsWith('s3://')

/**
 * Opens the target that a text names: `s3://bucket/prefix`, or a directory.
 * @param cwd what a relative path starts from
 * @throws SternaError `configuration` if the text or the access to S3 is not complete
 */
export function openTarget(text: string, access: S3Access, cwd: string): Target {
  if (!isS3(text)) return new DirectoryTarget(resolve(cwd, text))
  const [, bucket, path = ''] = s3Form.exec(text) ?? []
  if (bucket === undefined) {
    throw new SternaError('configuration', `${text} does not name a bucket. Write it like s3://bucket/prefix.`)
  }
  const { endpoint, region, accessKeyId, secretAccessKey } = access
  if (accessKeyId === null || secretAccessKey === null) {
    throw new SternaError('configuration', 'To use S3, set backup.s3_access_key_id and backup.s3_secret_access_key.')
  }
  const base = endpoint ?? `https://s3.${region}.amazonaws.com`
  return new S3Target({ bucket, prefix: path === '' ? '' : `${path.slice(1)}/`, endpoint: base, region, accessKeyId, secretAccessKey })
}
