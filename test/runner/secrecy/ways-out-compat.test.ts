import { describeWaysOut } from './ways-out.ts';

describeWaysOut('compat');
