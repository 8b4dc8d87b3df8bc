import * as pulumi from '@pulumi/pulumi';
import { parseConfig } from './config.ts';
import { stack } from './stack.ts';

/** The program that `pulumi up` runs; the default export becomes the outputs of the stack. */
export default stack(parseConfig(pulumi.getStack(), pulumi.runtime.allConfig()));
