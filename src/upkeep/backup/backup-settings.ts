import { SternaError } from '../../platform/errors.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { Keep } from './kept-backups.ts'
import type { S3Access } from './open-target.ts'

/** What a thread needs to open a target. */
export interface TargetPlace {
  /** `s3://bucket/prefix`, or an absolute path. */
  place: string
  access: S3Access
}

export const accessOf = ({ backup }: Config): S3Access => ({
  endpoint: backup.s3Endpoint,
  region: backup.s3Region,
  accessKeyId: backup.s3AccessKeyId,
  secretAccessKey: backup.s3SecretAccessKey?.reveal() ?? null,
})

export const keepOf = ({ backup: { keep } }: Config): Keep => ({ last: 0, daily: 0, weekly: 0, monthly: 0, ...keep })

/** @throws SternaError `configuration` if none is configured */
export function configuredTarget({ backup: { target } }: Config): string {
  if (target !== null) return target
  throw new SternaError('configuration', 'No target is configured. Name one, or set backup.target to a directory or s3://bucket/prefix.')
}
