import type { Construct } from 'constructs';
import type { Environment } from '../environment.ts';

export function monitoring(_scope: Construct, _env: Environment): void {}
